import { EVERY_PROGRAM, SERVICE_ITSELF } from '../../../domain/event.ts';
import type { Database, Row } from '../connection/database.ts';
import { columns, DATE, INTEGER, JSON_TEXT, many, NUMBER, nullable, statement, TEXT, UUID } from '../sql.ts';
import {
  type EventPlace,
  type EventsAfter,
  isDeleted,
  type PlaceRange,
  readOldestPosition,
  readPlaces,
  readPlacesOfBatch,
  readPlacesOfPrograms,
  toEventPlace,
} from './event-positions.ts';
import { fullPayload } from './transfer-payload.ts';

export type StoredEvent = {
  /** The id of the event's transaction, with the event's index in the last 16 bits. */
  readonly eventId: string;
  /** Null for an event of the service itself. For an event shared by all programs, this is the program whose events were read. */
  readonly programId: string | null;
  /** The position in the program. Positions are 1, 2, 3 and so on without gaps. */
  readonly position: number;
  /**
   * The number among the events of all programs. Numbers are 1, 2, 3 and so on without gaps. A shared event has the number of the
   * event before it.
   */
  readonly number: number;
  readonly isShared: boolean;
  readonly type: string;
  readonly subjectId: string;
  readonly createdAt: Date;
  /** JSON text, unchanged since it was stored. */
  readonly payload: string;
  /** The trace of the request that caused the event, if the caller sent one. */
  readonly traceparent: string | null;
};

/**
 * A range of events: of a program or, without `programId`, of all programs by number. With `after`, later positions (or numbers),
 * oldest first. With `before`, earlier ones, newest first. `types` are names, or groups such as `transfer.*`.
 */
export type EventRange = {
  readonly programId?: string | undefined;
  /** Selects this program's events among the events of all programs. */
  readonly onlyOf?: string | undefined;
  readonly limit: number;
  readonly types?: readonly string[] | undefined;
  readonly subjectId?: string | undefined;
} & ({ readonly after: number } | { readonly before: number });

export type EventPage = {
  readonly events: readonly StoredEvent[];
  /**
   * The last position or number of the page, including events that the filters excluded. The next page comes after or before it.
   * Unchanged if there are no more events.
   */
  readonly end: number;
  readonly isFull: boolean;
  /** The places that were read. `replicated` is set if commits wait for a standby. */
  readonly places: readonly Row[];
};

/** Returned instead of a page if the next event is deleted. Contains the first position whose event is stored. */
export type DeletedEvents = { readonly oldest: number };

/** Number of transactions that are read at once if filters exclude most events. */
const MAX_FILTERED_PLACES = 500;

/**
 * Number of events that are compared with filters at once. All events may match, and one transaction with a group of
 * transfers can have hundreds of them.
 */
const MAX_FILTERED_EVENTS = 1_000;

const EVENT = columns({
  batchId: UUID,
  programId: UUID,
  index: INTEGER,
  offset: NUMBER,
  type: TEXT,
  subjectId: TEXT,
  createdAt: DATE,
  payload: JSON_TEXT,
  traceparent: nullable(TEXT),
});

/**
 * Reads the events of some transactions. Empty `programIds` and `types` select all. The times are values in the statement, so that
 * PostgreSQL plans and locks only the partitions of their days. Always returns `deleted`, as of the time when the partitions were
 * read.
 */
export const READ_EVENTS = statement(
  // A statement without a name is planned every time. A cached plan would cover all partitions.
  '',
  {
    batchIds: many(UUID),
    times: many(DATE),
    programIds: many(UUID),
    types: many(TEXT),
    subjectId: nullable(TEXT),
    serviceItself: UUID,
  },
  `select found.*, up_to_number as deleted from event_deletion left join (
      select batch_id, coalesce(program_id, :serviceItself) as program_id, index, type, subject_id, created_at, payload, traceparent,
        row_number() over (partition by batch_id, program_id order by index) - 1 as offset
      from event
      where created_at = any (:times) and batch_id = any (:batchIds)
        and (cardinality(:programIds) = 0 or coalesce(program_id, :serviceItself) = any (:programIds))
    ) as found on (cardinality(:types) = 0 or type = any (:types) or split_part(type, '.', 1) || '.*' = any (:types))
      and (:subjectId::text is null or subject_id = :subjectId)`,
);

type Filter = { readonly types?: readonly string[] | undefined; readonly subjectId?: string | null | undefined };
type EventRow = ReturnType<typeof EVENT.read>;

/** The events of some places, by transaction, program and offset, and the highest number of a deleted event. */
type FoundEvents = {
  readonly of: (place: EventPlace, offset: number) => EventRow | undefined;
  readonly deleted: Row['deleted'];
};

/** Reads a page of events. It never skips positions: if events are deleted, it returns {@link DeletedEvents}. */
export async function readEventPage(database: Database, range: EventRange): Promise<EventPage | DeletedEvents> {
  const { programId, onlyOf, limit, types, subjectId, ...from } = range;
  const isFiltered = hasFilter(range);
  const count = isFiltered ? MAX_FILTERED_PLACES : limit;
  const all = await database.read(readPlaces({ programId, count, ...from } as PlaceRange));
  const rows = beginningOf(all, isFiltered ? MAX_FILTERED_EVENTS : limit, range);
  const wanted = rows.map(toEventPlace).filter((place) => onlyOf === undefined || place.programId === onlyOf);
  const found = await readEventsOf(database, wanted, programId === undefined ? [] : [programId], { types, subjectId });
  return toPage(database, { rows, isAll: rows.length < count && rows.length === all.length }, found, range);
}

/**
 * Reads one page of each of several ranges at once. If a range fails, it returns an error instead of a page, and the others are not
 * affected.
 */
export async function readEventPages(
  database: Database,
  ranges: readonly EventsAfter[],
  limit: number,
): Promise<readonly (EventPage | DeletedEvents | Error)[]> {
  const all = await database.read(readPlacesOfPrograms({ wanted: ranges, count: limit }));
  const byRange = Map.groupBy(all, (row) => `${row.wanted_program} ${row.wanted_after}`);
  const read = ranges.map((wanted) => {
    const range = { ...wanted, limit };
    const rows = byRange.get(`${wanted.programId} ${wanted.after}`) ?? [];
    return { range, count: rows.length, rows: beginningOf(rows, limit, range) };
  });
  const places = read.flatMap(({ rows }) => rows.map(toEventPlace));
  const programIds = [...new Set(ranges.map(({ programId }) => programId))];
  const found = await readEventsOf(database, places, programIds, {});
  const pages = read.map(({ range, count, rows }) =>
    toPage(database, { rows, isAll: count < limit && rows.length === count }, found, range),
  );
  return (await Promise.allSettled(pages)).map((page) => (page.status === 'fulfilled' ? page.value : page.reason));
}

type ReadPlaces = { readonly rows: readonly Row[]; readonly isAll: boolean };

async function toPage(
  database: Database,
  { rows, isAll }: ReadPlaces,
  found: FoundEvents,
  range: EventRange,
): Promise<EventPage | DeletedEvents> {
  // Events may have been deleted after the places were read.
  const places = rows.map((row) => ({ ...row, deleted: found.deleted ?? row.deleted }));
  const page =
    'after' in range ? pageAfter(places, found, range.after, range) : pageBefore(places, found, range.before, range);
  if (page !== 'deleted') {
    const { events, end, isFull, isLast } = page;
    return { events, end, isFull: isFull || (!isLast && !isAll), places };
  }
  const [oldest] = await database.read(readOldestPosition(range.programId));
  return { oldest: Number(oldest?.oldest) };
}

function hasFilter({ types, subjectId, onlyOf }: EventRange): boolean {
  return types !== undefined || subjectId !== undefined || onlyOf !== undefined;
}

/** Fails if an event is missing although no filter could have excluded it. A lost event must be an error, never a silent gap. */
function requireFilter(range: EventRange): void {
  if (!hasFilter(range)) throw new Error('an event that has a position is missing');
}

/** Returns the first places that together have at least `most` events of the range, or all places. */
function beginningOf(places: readonly Row[], most: number, range: EventRange): readonly Row[] {
  let count = 0;
  const last = places.findIndex((row) => {
    const place = toEventPlace(row);
    const start = range.programId === undefined ? place.number : place.position;
    const inside = 'after' in range ? start + place.count - 1 - range.after : range.before - start;
    if (range.onlyOf === undefined || place.programId === range.onlyOf) count += Math.min(place.count, inside);
    return count >= most;
  });
  return last === -1 ? places : places.slice(0, last + 1);
}

/** A page made from the places that were read. `isLast` means that the next event is deleted. */
type PlacesPage = Omit<EventPage, 'places'> & { readonly isLast?: true };

function pageAfter(
  places: readonly Row[],
  found: FoundEvents,
  after: number,
  range: EventRange,
): PlacesPage | 'deleted' {
  const { limit, programId } = range;
  const events: StoredEvent[] = [];
  let end = after;
  for (const row of places) {
    const place = toEventPlace(row);
    const start = programId === undefined ? place.number : place.position;
    // The places in between are missing because they were deleted with their events.
    if (start > end + 1) return 'deleted';
    for (let offset = end + 1 - start; offset < place.count; offset += 1) {
      if (isDeleted(row, offset)) return 'deleted';
      if (events.length === limit) return { events, end, isFull: true };
      const event = found.of(place, offset);
      if (event === undefined) requireFilter(range);
      else events.push(toStoredEvent(place, event));
      end = start + offset;
    }
  }
  return { events, end, isFull: false };
}

function pageBefore(places: readonly Row[], found: FoundEvents, before: number, range: EventRange): PlacesPage {
  const { limit, programId } = range;
  const events: StoredEvent[] = [];
  let end = before;
  for (const row of places) {
    const place = toEventPlace(row);
    const start = programId === undefined ? place.number : place.position;
    for (let offset = Math.min(place.count, end - start) - 1; offset >= 0; offset -= 1) {
      if (isDeleted(row, offset)) return { events, end, isFull: false, isLast: true };
      if (events.length === limit) return { events, end, isFull: true };
      const event = found.of(place, offset);
      if (event === undefined) requireFilter(range);
      else events.push(toStoredEvent(place, event));
      end = start + offset;
    }
  }
  return { events, end, isFull: false };
}

/**
 * Reads one event. If a program is given, the event must belong to it. Returns undefined if there is no event with this id, if it
 * has no position yet, or if it is deleted.
 */
export async function findEvent(
  database: Database,
  eventId: string,
  programId?: string,
): Promise<StoredEvent | undefined> {
  const rows = await database.read(readPlacesOfBatch(eventId));
  return (await findInPlaces(database, rows, [eventId], programId)).get(eventId);
}

/** Reads several events of all programs by id, as {@link findEvent} does, in few round trips. */
export async function findEvents(
  database: Database,
  eventIds: readonly string[],
  programId?: string,
): Promise<ReadonlyMap<string, StoredEvent>> {
  if (eventIds.length === 0) return new Map();
  // A single statement for all transactions could not use an index, because the ids are looked up by prefix.
  const batches = new Map(eventIds.map((eventId) => [eventId.slice(0, -4), eventId]));
  const rows = await database.inOnePacket([...batches.values()].map(readPlacesOfBatch));
  return findInPlaces(database, rows.flat(), eventIds, programId);
}

async function findInPlaces(
  database: Database,
  all: readonly Row[],
  eventIds: readonly string[],
  programId: string | undefined,
): Promise<ReadonlyMap<string, StoredEvent>> {
  const events = new Map<string, StoredEvent>();
  const wanted = new Set(eventIds);
  let rest = all.filter((row) => programId === undefined || row.program_id === programId);
  while (rest.length > 0) {
    const rows = untilEvents(rest, MAX_FILTERED_EVENTS);
    rest = rest.slice(rows.length);
    const found = await readEventsOf(database, rows.map(toEventPlace), programId === undefined ? [] : [programId], {});
    for (const row of rows) {
      const place = toEventPlace(row);
      for (let offset = 0; offset < place.count; offset += 1) {
        const event = found.of(place, offset);
        if (event === undefined || isDeleted(row, offset)) continue;
        const eventId = eventIdOf(event);
        if (wanted.has(eventId) && !events.has(eventId)) events.set(eventId, toStoredEvent(place, event));
      }
    }
  }
  return events;
}

/** Returns the first places that together have at least `most` events, or all places. */
function untilEvents(places: readonly Row[], most: number): readonly Row[] {
  let count = 0;
  const last = places.findIndex((row) => {
    count += toEventPlace(row).count;
    return count >= most;
  });
  return last === -1 ? places : places.slice(0, last + 1);
}

async function readEventsOf(
  database: Database,
  places: readonly EventPlace[],
  /** The programs as inner UUIDs. Empty for all. */
  programIds: readonly string[],
  { types = [], subjectId = null }: Filter,
): Promise<FoundEvents> {
  if (places.length === 0) return { of: () => undefined, deleted: undefined };
  const rows = await database.read(
    READ_EVENTS({
      batchIds: [...new Set(places.map(({ batchId }) => batchId))],
      times: [...new Set(places.map(({ eventsAt }) => eventsAt))].map((time) => new Date(time)),
      programIds: programIds.length === 0 ? [] : [...programIds, EVERY_PROGRAM],
      types,
      subjectId,
      serviceItself: SERVICE_ITSELF,
    }),
  );
  const events = new Map<string, EventRow>();
  for (const row of rows) {
    if (row.batch_id === null) continue;
    const event = EVENT.read(row);
    events.set(`${event.batchId} ${event.programId} ${event.offset}`, event);
  }
  return {
    of: (place, offset) => events.get(`${place.batchId} ${place.isShared ? EVERY_PROGRAM : place.programId} ${offset}`),
    deleted: rows[0]?.deleted,
  };
}

export function eventIdOf({ batchId, index }: Pick<EventRow, 'batchId' | 'index'>): string {
  return `${batchId.slice(0, -4)}${(index + 1).toString(16).padStart(4, '0')}`;
}

function toStoredEvent(place: EventPlace, event: EventRow): StoredEvent {
  const { programId, isShared } = place;
  return {
    eventId: eventIdOf(event),
    programId: programId === SERVICE_ITSELF ? null : programId,
    position: place.position + event.offset,
    number: isShared ? place.number : place.number + event.offset,
    isShared,
    type: event.type,
    subjectId: event.subjectId,
    createdAt: event.createdAt,
    payload: fullPayload(event.payload, { programId, subjectId: event.subjectId }),
    traceparent: event.traceparent,
  };
}
