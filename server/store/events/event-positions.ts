import type { Row, Statement } from '../connection/database.ts';
import { REPLICATED } from '../connection/standby.ts';
import { BOOLEAN, columns, many, NUMBER, type RowOf, rows, statement, TIME, UUID } from '../sql.ts';

const POSITION = columns({
  programId: UUID,
  position: NUMBER,
  count: NUMBER,
  batchId: UUID,
  eventsAt: TIME,
  number: NUMBER,
  isShared: BOOLEAN,
});

/**
 * The positions of a transaction's events in one program. `position` is the position of the first event in its program, and
 * `number` is its number among the events of all programs. Shared events have no number.
 */
export type EventPlace = RowOf<typeof POSITION.columns>;

export const toEventPlace: (row: Row) => EventPlace = POSITION.read;

const HEAD = columns({ programId: UUID, position: NUMBER });

/** Reads the last position of each given program, as `program_id` and `position`. A program without events has no row. */
export const readHeads = statement(
  'read_event_heads',
  { programIds: many(UUID) },
  `select ${HEAD.names} from event_head where program_id = any (:programIds)`,
);

/** Returns the last position of each program, from the rows of {@link readHeads} or {@link READ_ALL_HEADS}. */
export function toHeads(found: readonly Row[]): Map<string, number> {
  return new Map(found.map(HEAD.read).map(({ programId, position }) => [programId, position]));
}

/** Reads the last position of every program and of the service itself. The row with the highest UUID has the last number. */
export const READ_ALL_HEADS: Statement = {
  name: 'read_all_event_heads',
  text: `select ${HEAD.names} from event_head`,
  values: [],
};

/** SQL: a place, whether its events are deleted, and the server if its commits wait for a standby. */
const PLACE = `${POSITION.names}, (select up_to_number from event_deletion) as deleted, relayed_at as created_at, ${REPLICATED}`;

// Pages of places, oldest or newest first. The first place after a position may begin before that position, and is found by one
// look-up. Its number shows whether its events are deleted, see {@link isDeleted}.

const PLACES_AFTER = statement(
  'read_event_places_after',
  { programId: UUID, after: NUMBER, count: NUMBER },
  `select ${PLACE} from event_position
    where program_id = :programId
      and position >= coalesce((
        select position from event_position where program_id = :programId and position <= :after::bigint + 1
        order by position desc limit 1), 0)
      and position + event_position.count > :after::bigint + 1
    order by position limit :count`,
);

const PLACES_BEFORE = statement(
  'read_event_places_before',
  { programId: UUID, before: NUMBER, count: NUMBER },
  `select ${PLACE} from event_position
    where program_id = :programId and position < :before
    order by position desc limit :count`,
);

const ALL_PLACES_AFTER = statement(
  'read_all_event_places_after',
  { after: NUMBER, count: NUMBER },
  `select ${PLACE} from event_position
    where not is_shared
      and number >= coalesce((
        select number from event_position where not is_shared and number <= :after::bigint + 1
        order by number desc limit 1), 0)
      and number + event_position.count > :after::bigint + 1
    order by number limit :count`,
);

const ALL_PLACES_BEFORE = statement(
  'read_all_event_places_before',
  { before: NUMBER, count: NUMBER },
  `select ${PLACE} from event_position
    where not is_shared and number < :before
    order by number desc limit :count`,
);

const PLACES_OF_BATCH = statement(
  'read_event_places_of_batch',
  { first: UUID, last: UUID },
  `select ${PLACE} from event_position
    where batch_id between :first and :last order by position`,
);

/**
 * The places to read: of a program by position or, without `programId`, of all programs by number. Shared places have no number.
 */
export type PlaceRange =
  | { readonly programId?: string | undefined; readonly after: number; readonly count: number }
  | { readonly programId?: string | undefined; readonly before: number; readonly count: number };

/**
 * Reads places. With `after`, later positions, oldest first. With `before`, earlier positions, newest first. The first place may
 * also contain events outside the range.
 */
export function readPlaces({ programId, count, ...range }: PlaceRange): Statement {
  if ('after' in range) {
    const { after } = range;
    return programId === undefined ? ALL_PLACES_AFTER({ after, count }) : PLACES_AFTER({ programId, after, count });
  }
  const { before } = range;
  return programId === undefined ? ALL_PLACES_BEFORE({ before, count }) : PLACES_BEFORE({ programId, before, count });
}

const WANTED = columns({ programId: UUID, after: NUMBER });

export type EventsAfter = RowOf<typeof WANTED.columns>;

/**
 * Reads several ranges at once, as {@link readPlaces} does, with up to `count` places each. The rows also contain the range, as
 * `wanted_program` and `wanted_after`.
 */
export const readPlacesOfPrograms = statement(
  'read_event_places_of_programs',
  { wanted: rows(WANTED), count: NUMBER },
  `select wanted.program_id as wanted_program, wanted.after as wanted_after, found.*
    from :wanted cross join lateral (
      select ${PLACE} from event_position
      where program_id = wanted.program_id
        and position >= coalesce((
          select position from event_position where program_id = wanted.program_id and position <= wanted.after + 1
          order by position desc limit 1), 0)
        and position + event_position.count > wanted.after + 1
      order by position limit :count
    ) as found
    order by found.position`,
);

/** Reads the places of the transaction of an event. Any UUID with the beginning of the transaction's id can be given. */
export function readPlacesOfBatch(eventId: string): Statement {
  const start = eventId.slice(0, -4);
  return PLACES_OF_BATCH({ first: `${start}0000`, last: `${start}ffff` });
}

/** Returns whether the event at `offset` in a place is deleted, given the row of the place. */
export function isDeleted(row: Row, offset: number): boolean {
  const { number, isShared } = toEventPlace(row);
  return number + (isShared ? 0 : offset) <= Number(row.deleted);
}

const OLDEST_POSITION = statement(
  'read_oldest_event_position',
  { programId: UUID },
  'select oldest_event_position(:programId) as oldest',
);

const OLDEST_NUMBER: Statement = {
  name: 'read_oldest_event_number',
  text: 'select up_to_number + 1 as oldest from event_deletion',
  values: [],
};

/**
 * Reads the first position of a program whose event is stored, as `oldest`. If none is stored, reads the position of its next
 * event. Without a program, reads the number instead.
 */
export function readOldestPosition(programId: string | undefined): Statement {
  return programId === undefined ? OLDEST_NUMBER : OLDEST_POSITION({ programId });
}
