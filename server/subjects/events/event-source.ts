import { performance } from 'node:perf_hooks';
import { eventsExpired } from '../../calls/program.ts';
import { confirmReplicated, readRows, toOperationFailure } from '../../calls/read-rows.ts';
import type { Database, Row } from '../../store/connection/database.ts';
import { readHeads, readOldestPosition, toHeads } from '../../store/events/event-positions.ts';
import { readEventPage, type StoredEvent } from '../../store/events/read-events.ts';
import { ALL_EVENTS } from './event-news.ts';

export type EventSource = {
  /** The card program. Its events are ordered by position. Undefined for all events, which are ordered by number. */
  readonly programId: string | undefined;
  /** The id under which the last position is stored: the program, or {@link ALL_EVENTS}. */
  readonly headOf: string;
  /** If set, only this program's events are read from the events of all programs. */
  readonly onlyOf: string | undefined;
  /** Types, or groups of types such as `transfer.*`. */
  readonly types: readonly string[] | undefined;
  readonly subjectId: string | undefined;
  readonly write: (event: StoredEvent) => string;
};

/** The events, in reading order. */
export type EventsRead = {
  readonly events: readonly StoredEvent[];
  /** The position (or number) to continue from: of the last event that was read, even if the filters excluded it. */
  readonly end: number;
  /** Whether there are more. */
  readonly hasMore: boolean;
};

/** The start: after a position (or number), oldest first, or before it, newest first. */
export type From = { readonly after: number } | { readonly before: number };

/** Time limit for filling a page, in milliseconds. After this time, the page contains only the events found so far. */
const SEARCH_MILLISECONDS = 1000;

/** Time limit for a standby to confirm the events that were read. It applies only if commits wait for a standby. */
const PROOF_MILLISECONDS = 3000;

export function placeOf(source: EventSource, event: StoredEvent): number {
  return source.programId === undefined ? event.number : event.position;
}

/** Returns the last position (or number) of a source, or 0 if it has no events. */
export async function readHead(database: Database, { headOf }: EventSource): Promise<number> {
  return toHeads(await readRows(database, readHeads({ programIds: [headOf] }))).get(headOf) ?? 0;
}

/**
 * Reads up to `limit` events. Filters are applied while reading, for at most a second. If few events match, the result may be
 * short or empty. `end` is the position to continue from.
 *
 * If commits wait for a standby, returns only events that the standby has received. After a failover, other events could get
 * the positions of events that it has not received.
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

/** Reads events, and adds the rows of `event_position` that it used to `places`. */
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
      // Returns the events found so far. The request for the next page will be refused.
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

/** Refuses a position (or number) if later events were deleted. The message names the position to continue from. */
export async function refuseDeleted(database: Database, source: EventSource, after: number): Promise<never> {
  const [row] = await readRows(database, readOldestPosition(source.programId));
  throw eventsExpired(source.headOf, after, Number(row?.oldest));
}
