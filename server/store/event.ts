import type { DomainEvent, EventType } from '../../domain/event.ts';
import type { Statement } from './connection/database.ts';
import { columns, INTEGER, JSON_TEXT, nullable, rows, statement, TEXT, TIME, UUID, word } from './sql.ts';

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

/**
 * Inserts events, in the order given, in the transaction of what they report. Batch and index identify an event. Its
 * position among the events of other transactions is set after the commit: ids and sequences leave gaps that are filled
 * later.
 */
export function insertEvents(batchId: string, events: readonly DomainEvent[], now: number): Statement {
  return INSERT_EVENTS({ events: events.map((event, index) => ({ ...event, index })), batchId, now });
}
