import { type DomainEvent, type EventType, SERVICE_ITSELF } from '../../../domain/event.ts';
import type { Statement } from '../connection/database.ts';
import type { BatchEvents } from '../connection/work.ts';
import { columns, INTEGER, JSON_TEXT, nullable, rows, statement, TEXT, TIME, UUID, word } from '../sql.ts';

const EVENT = columns({
  index: INTEGER,
  programId: nullable(UUID),
  type: word<EventType>(),
  subjectId: TEXT,
  payload: JSON_TEXT,
});

const INSERT_EVENTS = statement(
  'insert_events',
  { events: rows(EVENT), batchId: UUID, now: TIME },
  `insert into event (${EVENT.names}, batch_id, created_at)
    select events.*, :batchId::uuid, :now::timestamptz from :events`,
);

const TRACED_EVENT = columns({ ...EVENT.columns, requestId: nullable(UUID), traceparent: nullable(TEXT) });

/**
 * Inserts events with their requests and traces. This is a separate statement, because most groups have none and would send columns
 * of nulls.
 */
const INSERT_TRACED_EVENTS = statement(
  'insert_traced_events',
  { events: rows(TRACED_EVENT), batchId: UUID, now: TIME },
  `insert into event (${TRACED_EVENT.names}, batch_id, created_at)
    select events.*, :batchId::uuid, :now::timestamptz from :events`,
);

/**
 * Inserts all events of a transaction, in this order. Must be in the transaction of the changes that they report. An event is
 * identified by its batch and index. The relay gives it a position after the commit, because ids and sequences that are taken
 * before a commit have gaps that are filled later.
 */
export function insertEvents(
  batchId: string,
  events: readonly DomainEvent[],
  now: number,
  /** The request, if it is the same for all events. */
  of?: Pick<DomainEvent, 'requestId' | 'traceparent'>,
): Statement {
  const isTraced =
    of !== undefined ||
    events.some(({ requestId, traceparent }) => requestId !== undefined || traceparent !== undefined);
  const insert = isTraced
    ? INSERT_TRACED_EVENTS({
        events: events.map((event, index) => ({
          ...event,
          index,
          requestId: event.requestId ?? of?.requestId ?? null,
          traceparent: event.traceparent ?? of?.traceparent ?? null,
        })),
        batchId,
        now,
      })
    : INSERT_EVENTS({ events: events.map((event, index) => ({ ...event, index })), batchId, now });
  return { ...insert, events: describeEvents(events, now) };
}

function describeEvents(events: readonly DomainEvent[], now: number): BatchEvents {
  const counts = new Map<string, number>();
  for (const { programId } of events) {
    const id = programId ?? SERVICE_ITSELF;
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return { at: new Date(now), programIds: [...counts.keys()], counts: [...counts.values()] };
}
