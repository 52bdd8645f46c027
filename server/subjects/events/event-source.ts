import { performance } from 'node:perf_hooks';
import { eventsExpired } from '../../calls/missing.ts';
import { confirmReplicated, readRows, toOperationFailure } from '../../calls/read-rows.ts';
import type { Database, Row } from '../../store/connection/database.ts';
import { readHeads, readOldestPosition, toHeads } from '../../store/events/event-positions.ts';
import { readEventPage, type StoredEvent } from '../../store/events/read-events.ts';
import { ALL_EVENTS } from './event-news.ts';

/** Which events are read, and in which order. */
export type EventSource = {
  /** The card program, whose events are in the order of their positions; undefined for all events, ordered by number. */
  readonly programId: string | undefined;
  /** The id under which the last position is stored: the program, or {@link ALL_EVENTS}. */
  readonly headOf: string;
  /** Limits all events to those of this program. */
  readonly onlyOf: string | undefined;
  /** Types, or groups of types such as `transfer.*`. */
  readonly types: readonly string[] | undefined;
  readonly subjectId: string | undefined;
  /** An event as JSON text. */
  readonly write: (event: StoredEvent) => string;
};

/** Events in the order in which they were read. */
export type EventsRead = {
  readonly events: readonly StoredEvent[];
  /** Where to continue: the position (or number) of the last event that was read, even if the filters excluded it. */
  readonly end: number;
  /** Whether there is more. */
  readonly hasMore: boolean;
};

/** Where to begin: after a position (or number), oldest first, or before it, newest first. */
export type From = { readonly after: number } | { readonly before: number };

/** Time limit for filling a page, in milliseconds. After it, the page is sent with the events found so far. */
const SEARCH_MILLISECONDS = 1000;

/** Time limit for a standby to confirm what was read, if commits wait for a standby. */
const PROOF_MILLISECONDS = 3000;

/** The position (or number) of an event in the order of a source. */
export function placeOf(source: EventSource, event: StoredEvent): number {
  return source.programId === undefined ? event.number : event.position;
}

/** The last position (or number) of a source; 0 if it has no events. */
export async function readHead(database: Database, { headOf }: EventSource): Promise<number> {
  return toHeads(await readRows(database, readHeads({ programIds: [headOf] }))).get(headOf) ?? 0;
}

/**
 * Reads up to `limit` events. Filters are applied while reading, for a second at most. If few events match, the result may
 * have fewer or none; `end` says where to continue.
 *
 * If commits wait for a standby, only events that it has are returned: a failover would give the positions of others to
 * different events.
 *
 * @throws {Refusal} events_expired
 */
export async function readEvents(
  database: Database,
  source: EventSource,
  from: From,
  limit: number,
): Promise<EventsRead> {
  const places: Row[] = [];
  const read = await searchEvents(database, source, from, { limit, places });
  await confirmReplicated(database, performance.now() + PROOF_MILLISECONDS, places);
  return read;
}

/** Reads events, and adds their rows of `event_position` to `places`. */
async function searchEvents(
  database: Database,
  source: EventSource,
  from: From,
  { limit, places }: { readonly limit: number; readonly places: Row[] },
): Promise<EventsRead> {
  const giveUpAt = performance.now() + SEARCH_MILLISECONDS;
  const { programId, onlyOf, types, subjectId } = source;
  const events: StoredEvent[] = [];
  let next = from;
  for (;;) {
    const range = { programId, onlyOf, types, subjectId, limit: limit - events.length, ...next };
    const page = await readEventPage(database, range).catch((error) => Promise.reject(toOperationFailure(error)));
    if ('oldest' in page) {
      // A page with some events is returned; the next one is refused.
      if (events.length > 0) break;
      throw eventsExpired(source.headOf, 'after' in next ? next.after : 0, page.oldest);
    }
    events.push(...page.events);
    places.push(...page.places);
    next = 'after' in next ? { after: page.end } : { before: page.end };
    // The first position is 1.
    if (!page.isFull || ('before' in next && page.end === 1)) return { events, end: page.end, hasMore: false };
    if (events.length >= limit || performance.now() > giveUpAt) break;
  }
  return { events, end: 'after' in next ? next.after : next.before, hasMore: true };
}

/** Refuses a position (or number) after which events were deleted: the message says with which one to continue. */
export async function refuseDeleted(database: Database, source: EventSource, after: number): Promise<never> {
  const [row] = await readRows(database, readOldestPosition(source.programId));
  throw eventsExpired(source.headOf, after, Number(row?.oldest));
}
