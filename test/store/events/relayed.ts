import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { DomainEvent } from '../../../domain/event.ts';
import { newBatchId } from '../../../server/foundation/ids.ts';
import type { Database } from '../../../server/store/connection/database.ts';
import { insertEvents } from '../../../server/store/events/insert-events.ts';
import { readEventPage, type StoredEvent } from '../../../server/store/events/read-events.ts';
import { HOLD_RELAY, type Relayed, relayEvents, toRelayed } from '../../../server/store/events/relay.ts';

/** Returns an event with a name as its subject. */
export function eventOf(programId: string | null, subjectId: string): DomainEvent {
  return { type: 'transfer.completed', programId, subjectId, payload: `{"of":"${subjectId}"}` };
}

/** Commits events in a separate transaction and returns its id. */
export async function commitEvents(
  database: Database,
  events: readonly DomainEvent[],
  batchId = newBatchId(),
  at = Date.now(),
) {
  await database.transact({
    batchId,
    load: {},
    decide: () => ({ result: undefined, writes: [insertEvents(batchId, events, at)] }),
  });
  return batchId;
}

/** Writes a fence and events in a connection's open transaction, as the service does. */
export async function writeEvents(
  client: pg.ClientBase,
  events: readonly DomainEvent[],
  batchId = newBatchId(),
): Promise<string> {
  const { text, values, events: fence } = insertEvents(batchId, events, Date.now());
  await client.query(
    `insert into write_batch (batch_id, created_at, relayed, events_at, event_programs, event_counts)
      values ($1, clock_timestamp(), false, $2, $3, $4)`,
    [batchId, fence?.at, fence?.programIds, fence?.counts],
  );
  await client.query(text, [...values]);
  return batchId;
}

export async function relayOnce(database: Database, withinSeconds: number | null = null): Promise<Relayed> {
  return toRelayed(await database.underLock(HOLD_RELAY, relayEvents(withinSeconds)));
}

/** Returns all events after a position, of one program or of all programs. Fails the test if events are deleted. */
export async function readAll(database: Database, range: { readonly programId?: string; readonly after?: number }) {
  const events: StoredEvent[] = [];
  let { after = 0 } = range;
  for (;;) {
    const page = await readEventPage(database, { limit: 100, ...range, after });
    if ('oldest' in page) throw new Error('events are deleted');
    events.push(...page.events);
    after = page.end;
    if (!page.isFull) return events;
  }
}

/** Returns a new program id. The relay and readers need no row in `program`. */
export const newProgram = (): string => randomUUID();
