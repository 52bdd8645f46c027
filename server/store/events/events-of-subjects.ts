import type { Database, Statement } from '../connection/database.ts';
import { timeOfId } from '../error.ts';
import { BOOLEAN, columns, DATE, many, NUMBER, nullable, rows, statement, TEXT, UUID } from '../sql.ts';
import { type EventPlace, toEventPlace } from './event-positions.ts';
import { eventIdOf } from './read-events.ts';

/**
 * The time of a change whose event is wanted. Events have no index by subject, because it would make every transfer more expensive.
 * So they are found through their transaction, whose id contains its time.
 */
const MOMENT = columns({
  /** The earliest and latest possible start of the transaction, by the database's clock. */
  earliest: DATE,
  latest: DATE,
  /** Whether these times come from the service's clock, which can be ahead of the database's clock in a sandbox. */
  isServiceTime: BOOLEAN,
  /** The earliest and latest possible time of the decision, by the service's clock. */
  since: DATE,
  until: DATE,
});

export type EventMoment = ReturnType<typeof MOMENT.read>;

const READ_PLACES_AT = statement(
  'read_event_places_at',
  { sent: rows(MOMENT), programId: UUID, maxExamined: NUMBER, count: NUMBER },
  `select found.* from :sent cross join lateral (
      select * from (
        select program_id, position, event_position.count, batch_id, events_at, number, is_shared
        from event_position
        where batch_id >= uuid_at(sent.earliest - case when sent.is_service_time
              then (select coalesce(max(furthest), interval '0') from sandbox_clock) else interval '0' end)
          and batch_id <= uuid_at(sent.latest)
          -- Limits the partitions that are read. The exact times are compared below, after the limit.
          and events_at >= sent.since - interval '1 day' and events_at <= sent.until + interval '1 day'
        order by batch_id desc limit :maxExamined
      ) as examined
      where program_id = :programId and events_at >= sent.since and events_at <= sent.until
      order by abs(extract(epoch from events_at - sent.since - (sent.until - sent.since) / 2)), batch_id limit :count
    ) as found`,
);

/** Reads the places of a program's events at some times. Compares at most `maxExamined` transactions for each. */
export function readPlacesAt(
  programId: string,
  moments: readonly EventMoment[],
  bounds: { readonly maxExamined: number; readonly count: number },
): Statement {
  return READ_PLACES_AT({ sent: moments, programId, ...bounds });
}

const FOUND = columns({
  batchId: UUID,
  index: NUMBER,
  offset: NUMBER,
  type: TEXT,
  subjectId: TEXT,
  createdAt: DATE,
  requestId: nullable(UUID),
});

export const READ_EVENTS_OF_SUBJECTS = statement(
  // A statement without a name is planned every time. A cached plan would cover all partitions.
  '',
  { batchIds: many(UUID), times: many(DATE), programId: UUID, subjectIds: many(TEXT) },
  `select * from (
      select batch_id, index, type, subject_id, created_at, request_id,
        row_number() over (partition by batch_id order by index) - 1 as offset
      from event
      where created_at = any (:times) and batch_id = any (:batchIds) and program_id = :programId
    ) as of_batch
    where subject_id = any (:subjectIds)`,
);

/** An event of a subject, without its payload. */
export type SubjectEvent = {
  readonly eventId: string;
  readonly type: string;
  readonly subjectId: string;
  readonly position: number;
  readonly createdAt: Date;
  /** The request that caused the event. Null if there was none or it is unknown. */
  readonly requestId: string | null;
  /**
   * When the event's transaction began, by the database's clock. Later events have later times, even if the sandbox's clock was
   * moved.
   */
  readonly begunAt: Date;
};

/** Reads the events of some subjects (wire ids) of a program at some times, in the order of their positions. */
export async function readEventsOfSubjects(
  database: Database,
  programId: string,
  subjectIds: readonly string[],
  moments: readonly EventMoment[],
  bounds: { readonly maxExamined: number; readonly count: number },
): Promise<readonly SubjectEvent[]> {
  const places = (await database.read(readPlacesAt(programId, moments, bounds))).map(toEventPlace);
  if (places.length === 0) return [];
  const byBatch = new Map(places.map((place) => [place.batchId, place]));
  const found = await database.read(
    READ_EVENTS_OF_SUBJECTS({
      batchIds: [...byBatch.keys()],
      times: [...new Set(places.map(({ eventsAt }) => eventsAt))].map((time) => new Date(time)),
      programId,
      subjectIds,
    }),
  );
  return found
    .map(FOUND.read)
    .map((event) => toSubjectEvent(event, byBatch.get(event.batchId)))
    .toSorted((left, right) => left.position - right.position);
}

function toSubjectEvent(event: ReturnType<typeof FOUND.read>, place: EventPlace | undefined): SubjectEvent {
  if (place === undefined) throw new Error('found an event of a transaction that was not requested');
  const { batchId, index, offset, type, subjectId, createdAt, requestId } = event;
  return {
    eventId: eventIdOf({ batchId, index }),
    type,
    subjectId,
    position: place.position + offset,
    createdAt,
    requestId,
    begunAt: timeOfId(batchId),
  };
}
