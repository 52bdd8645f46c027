import { lowestIdAt } from '../../foundation/ids.ts';
import type { Row, Statement } from '../connection/database.ts';
import { eventIdOf } from '../events/read-events.ts';
import { columns, DATE, INTEGER, many, NUMBER, nullable, type RowOf, statement, TEXT, UUID } from '../sql.ts';

// Finds the traces of a request without an index. Ids begin with their time, and a request takes a few seconds at most. So the
// ids of the records that it created are in the range of these seconds. The statements run one after the other, and each has a
// limit, because a busy ledger writes many rows in that time.

/** Number of rows per program that one statement compares with the request. */
const MAX_EXAMINED = 50_000;

/** A range of time: `from` is inclusive, `to` is exclusive. */
export type TimeRange = { readonly from: Date; readonly to: Date };

const CREATED_RECORD = columns({ programId: UUID, id: UUID, isTransfer: TEXT });

const FIND_CREATED = statement(
  'find_made_by_request',
  { requestId: UUID, programId: nullable(UUID), low: UUID, high: UUID, maxExamined: NUMBER, count: NUMBER },
  `select program.program_id, made.id, made.is_transfer
    from program cross join lateral (
      (select transfer_id as id, request_id, 'yes' as is_transfer from transfer
        where transfer.program_id = program.program_id and transfer_id >= :low and transfer_id < :high
        order by transfer_id limit :maxExamined)
      union all
      (select reversal_id, request_id, 'no' from reversal
        where reversal.program_id = program.program_id and reversal_id >= :low and reversal_id < :high
        order by reversal_id limit :maxExamined)
    ) as made
    where (:programId::uuid is null or program.program_id = :programId) and made.request_id = :requestId
    order by made.id limit :count`,
);

/** Finds at most `count` transfers and reversals that a request created, among the ids of a range of time. */
export function findCreated(
  requestId: string,
  programId: string | null,
  { from, to }: TimeRange,
  count: number,
): Statement {
  return FIND_CREATED({
    requestId,
    programId,
    low: lowestIdAt(from),
    high: lowestIdAt(to),
    maxExamined: MAX_EXAMINED,
    count,
  });
}

/** A transfer or a reversal that a request created. Ids are inner UUIDs. */
export type CreatedRecord = { readonly programId: string; readonly id: string; readonly isTransfer: boolean };

export function toCreated(row: Row): CreatedRecord {
  const { isTransfer, ...ids } = CREATED_RECORD.read(row);
  return { ...ids, isTransfer: isTransfer === 'yes' };
}

const EVENT = columns({
  batchId: UUID,
  index: INTEGER,
  requestId: nullable(UUID),
  programId: nullable(UUID),
  type: TEXT,
  subjectId: TEXT,
  createdAt: DATE,
});

const FIND_EVENTS = statement(
  // Planned each time, because a plan for any time would read the partitions of all days.
  '',
  {
    requestId: UUID,
    programId: nullable(UUID),
    subjects: many(TEXT),
    low: UUID,
    high: UUID,
    from: DATE,
    to: DATE,
    maxExamined: NUMBER,
    count: NUMBER,
  },
  `select ${EVENT.names} from (
      select ${EVENT.names} from event
      where batch_id >= :low and batch_id < :high and created_at >= :from and created_at < :to
        and (:programId::uuid is null or program_id = :programId)
      order by batch_id limit :maxExamined
    ) as seen
    where request_id = :requestId or (request_id is null and subject_id = any (:subjects))
    order by batch_id, index limit :count`,
);

export type EventSearch = {
  readonly requestId: string;
  /** The card program of the events. Null for the events of all programs and of the service. */
  readonly programId: string | null;
  /** Ids on the wire. Events without a request id are found if they are about one of these subjects. */
  readonly subjects: readonly string[];
};

/**
 * Finds events in transactions of a range of time. `aheadMilliseconds` says how far a sandbox's clock was ahead. That clock
 * applies to events, but not to transactions.
 */
export function findEvents(
  { requestId, programId, subjects }: EventSearch,
  { from, to }: TimeRange,
  aheadMilliseconds: number,
  count: number,
): Statement {
  return FIND_EVENTS({
    requestId,
    programId,
    subjects,
    low: lowestIdAt(from),
    high: lowestIdAt(to),
    from: new Date(from.getTime() + aheadMilliseconds),
    to: new Date(to.getTime() + aheadMilliseconds),
    maxExamined: MAX_EXAMINED,
    count,
  });
}

/** An event that a request caused. Ids are inner UUIDs. */
export type CausedEvent = Omit<RowOf<typeof EVENT.columns>, 'batchId' | 'index'> & { readonly eventId: string };

export function toCausedEvent(row: Row): CausedEvent {
  const { batchId, index, ...event } = EVENT.read(row);
  return { ...event, eventId: eventIdOf({ batchId, index }) };
}

const READ_CLOCK_MOVES = statement(
  'read_clock_moves',
  { from: DATE, to: DATE, maxExamined: NUMBER },
  `select details, created_at from (
      select details, created_at, position from audit_entry where action = 'move_clock' order by position desc limit :maxExamined
    ) as moves
    where created_at < :to and position >= coalesce((
      select position from audit_entry
      where action = 'move_clock' and created_at < :from order by position desc limit 1
    ), 0)`,
);

/** Maximum number of moves of a sandbox's clock that are compared, latest first. */
const MAX_MOVES = 1000;

/** Reads the moves of the sandbox's clock in a range of time, and the last move before it. */
export function readClockMoves({ from, to }: TimeRange): Statement {
  return READ_CLOCK_MOVES({ from, to, maxExamined: MAX_MOVES });
}
