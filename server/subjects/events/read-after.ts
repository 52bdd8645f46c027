import type { Refusal } from '../../../domain/refusal.ts';
import { schemaRefusal } from '../../calls/call.ts';
import type { Service } from '../../calls/service.ts';
import { type TurnCall, Turns } from '../../calls/turns.ts';
import type { ListCall } from './event-query.ts';
import { type EventSource, type EventsRead, readEvents, readHead, refuseDeleted } from './event-source.ts';

// Invariant: A reader of events misses none and gets none twice, whatever ends its connection
// Kept by: positions; this file refuses one after which events are missing
// Tested by: `test/api/events`

/**
 * Reads events after a position (or number) that a caller has sent. Where there are none, the position must be the last one.
 *
 * A later one is of another service, or of a database that was since restored from a backup: whoever went on to wait for
 * the next position would miss the events until then. After an earlier one, everything up to the last was deleted.
 *
 * @throws {Refusal} `<operation>_schema`, events_expired
 */
export async function readAfter(
  { database }: Service,
  call: ListCall,
  source: EventSource,
  after: number,
  limit: number,
): Promise<EventsRead> {
  const read = () => readEvents(database, source, { after }, limit);
  const first = await read();
  if (first.end !== after) return first;
  const head = await readHead(database, source);
  if (after === head) return first;
  if (after > head) throw notYet(call, after, head);
  // The next event may have come after the first look.
  const second = await read();
  if (second.end === after) await refuseDeleted(database, source, after);
  return second;
}

function notYet(call: ListCall, after: number, head: number): Refusal {
  const what = call.operation === 'list_events' ? 'position' : 'number';
  const last = head === 0 ? 'there are no events yet' : `the last event has ${what} ${head}`;
  if (call.stream?.lastEventId === undefined) return schemaRefusal(call, `'after' is ${after}, but ${last}.`, '/after');
  return schemaRefusal(call, `The Last-Event-ID header is ${after}, but ${last}.`);
}

/**
 * How many waits and streams may read at the same time. An event of a busy program wakes many of them at once, and they must
 * leave database connections to requests. More cannot wait than there may be waits and streams, of one card program and of all.
 */
const liveReaders = new Turns({ atOnce: 3, waitingOfOne: 128, waitingOfAll: 8192 });

/** Reads for a wait or a stream when it is the card program's turn; operators are one program. */
export function inLiveTurn<Value>(call: TurnCall, read: () => Promise<Value>): Promise<Value> {
  return liveReaders.take(call, read);
}
