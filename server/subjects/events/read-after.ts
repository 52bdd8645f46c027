import type { Refusal } from '../../../domain/refusal.ts';
import { CallerGone, type Service, schemaRefusal } from '../../calls/call.ts';
import { type TurnCall, Turns, tooLate } from '../../calls/turns.ts';
import type { Database } from '../../store/connection/database.ts';
import type { EventQuery, ListCall } from './event-query.ts';
import { type EventSource, type EventsRead, readEvents, readHead, refuseDeleted } from './event-source.ts';

// Invariant: A reader of events misses none and gets none twice, even if it is disconnected
// Kept by: positions; this file refuses a position after which events are missing
// Tested by: `test/api/events`

/**
 * Reads events after a position (or number) that a caller has sent. If there are none, the position must be the last one.
 *
 * A later position comes from another service, or from a database that was restored from a backup. A caller that waited for
 * the next position would miss all events until then. If the position is earlier, the events after it were deleted.
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
  // The next event may have appeared after the first read.
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
 * Limits how many waits and streams read at the same time. One event can wake many of them, and they must leave database
 * connections to requests. The queues hold the maximum number of waits and streams, of one card program and of all.
 */
const liveReaders = new Turns({ atOnce: 3, waitingOfOne: 128, waitingOfAll: 8192 });

/** Reads for a wait or a stream when it is the card program's turn. All operators together count as one program. */
export function inLiveTurn<Value>(call: TurnCall, read: () => Promise<Value>): Promise<Value> {
  return liveReaders.take(call, read);
}

/** A read that several waits share. It needs its turn only until `until`, the latest of their deadlines. */
type SharedRead = { readonly read: Promise<EventsRead>; until: number; hasBegun: boolean };

/** Reads for waits that have not ended, by the page that they read. */
const readsForWaits = new WeakMap<Database, Map<string, SharedRead>>();

/**
 * Works like {@link readAfter} for a wait that was woken. An event wakes all waits of its program at once, and most of them
 * need the same page, so they share one read. If that read began before the event, it finds nothing, and its waits
 * continue. A wait whose deadline passes before the read gets its turn is refused alone.
 */
export async function readForWait(
  service: Service,
  call: ListCall,
  turn: TurnCall,
  { source, limit }: Pick<EventQuery, 'source' | 'limit'>,
  after: number,
): Promise<EventsRead> {
  const underWay = readsForWaits.get(service.database) ?? new Map<string, SharedRead>();
  readsForWaits.set(service.database, underWay);
  const key = JSON.stringify([source, limit, after]);
  const { programId, deadline } = turn;
  if (deadline <= performance.now()) throw tooLate();
  const known = underWay.get(key);
  if (known !== undefined) {
    known.until = Math.max(known.until, deadline);
    return inOwnTime(known, deadline);
  }
  const own = { until: deadline, hasBegun: false };
  const isGone = (): boolean => own.until <= performance.now();
  const begin = (): Promise<EventsRead> => {
    own.hasBegun = true;
    return readAfter(service, call, source, after, limit);
  };
  const read = inLiveTurn({ programId, deadline: Number.POSITIVE_INFINITY, isGone }, begin)
    .catch((error: unknown) => Promise.reject(error instanceof CallerGone ? tooLate() : error))
    .finally(() => underWay.delete(key));
  const shared: SharedRead = Object.assign(own, { read });
  underWay.set(key, shared);
  return inOwnTime(shared, deadline);
}

/** Returns the result of a shared read, or the refusal of a wait whose deadline passes before the read has begun. */
function inOwnTime(shared: SharedRead, deadline: number): Promise<EventsRead> {
  if (deadline === Number.POSITIVE_INFINITY) return shared.read;
  const late = Promise.withResolvers<never>();
  const expire = (): void => {
    if (!shared.hasBegun) late.reject(tooLate());
  };
  const timer = setTimeout(expire, deadline - performance.now());
  return Promise.race([shared.read, late.promise]).finally(() => clearTimeout(timer));
}
