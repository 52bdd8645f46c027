import { performance } from 'node:perf_hooks';
import { EVERY_PROGRAM, isTypeOrGroup, SERVICE_ITSELF } from '../../../domain/event.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import type { Refusal } from '../../../domain/refusal.ts';
import {
  type Call,
  CallerGone,
  type LiveReply,
  type LiveStream,
  type Reply,
  type Service,
  type StreamReply,
  schemaRefusal,
  type TextReply,
} from '../../calls/call.ts';
import { cursorFault, DEFAULT_LIMIT } from '../../calls/page.ts';
import { loadEvent, writeEvent, writeMessage, writeOperatorEvent } from '../../calls/records/event.ts';
import { forEachPiece, type TurnCall, Turns, tooLate } from '../../calls/turns.ts';
import type { Database } from '../../store/connection/database.ts';
import { ALL_EVENTS, type EventService } from './event-news.ts';
import { type EventSource, type EventsRead, placeOf, readEvents, readHead, refuseDeleted } from './event-source.ts';

/** list_events: returns a page of the card program's events, waits for the next event, or opens a stream. */
export function listEvents(service: EventService, call: Call<'list_events'>): Promise<Reply<'list_events'>> {
  return readList(service, call);
}

/** search_events: works like list_events for all card programs and the service itself, ordered by number. */
export function searchEvents(service: EventService, call: Call<'search_events'>): Promise<Reply<'search_events'>> {
  return readList(service, call);
}

/** get_event: returns an event of the card program. For events of other programs or of the service, throws `event_not_found`. */
export async function getEvent(service: Service, call: Call<'get_event'>): Promise<Reply<'get_event'>> {
  return { json: writeEvent(await loadEvent(service, call.params.event_id, call.programId)) };
}

export async function inspectEvent(service: Service, call: Call<'inspect_event'>): Promise<Reply<'inspect_event'>> {
  return { json: writeOperatorEvent(await loadEvent(service, call.params.event_id)) };
}

/** Returns a page of events. With `wait`, or as a stream, it also covers future events. */
async function readList(service: EventService, call: ListCall): Promise<TextReply | LiveReply> {
  const query = readEventQuery(call);
  if (call.stream !== undefined) return openStream(service, call, query);
  const { after, cursor } = query;
  if (after === null) return readNewest(service, query);
  return new ForwardList(service, call, query).read(cursor ?? after, performance.now() + query.waitMilliseconds);
}

async function readNewest({ database }: EventService, { source, cursor, limit }: EventQuery): Promise<TextReply> {
  const last = cursor === null ? await readHead(database, source) : cursor - 1;
  const read = await readEvents(database, source, { before: last + 1 }, limit);
  return writePage({ source, read, position: last });
}

/** A list with the oldest events first. It can wait for the next event. */
class ForwardList {
  readonly #service: EventService;
  readonly #call: ListCall;
  readonly #query: EventQuery;
  readonly #turns: TurnCall;

  constructor(service: EventService, call: ListCall, query: EventQuery) {
    this.#service = service;
    this.#call = call;
    this.#query = query;
    this.#turns = forEachPiece(call);
  }

  /** Returns the page after a position. If the page is empty, waits for the next event until `until`. */
  async read(after: number, until: number): Promise<TextReply | LiveReply> {
    const { source, limit } = this.#query;
    return this.#end(await readAfter(this.#service, this.#call, source, after, limit), until);
  }

  #end(read: EventsRead, until: number): TextReply | LiveReply {
    const isOver = read.events.length > 0 || read.hasMore || performance.now() >= until;
    return isOver ? this.#page(read) : this.#wait(read.end, until);
  }

  #wait(after: number, until: number): LiveReply {
    const { news } = this.#service;
    const { source } = this.#query;
    return {
      wait: {
        forNews: (signal) => news.wait(source.headOf, after, until - performance.now(), signal),
        resume: async (isOver) => {
          if (isOver || performance.now() >= until) return this.#page({ events: [], end: after, hasMore: false });
          return this.#end(await readForWait(this.#service, this.#call, this.#turns, this.#query, after), until);
        },
      },
    };
  }

  #page(read: EventsRead): TextReply {
    return writePage({ source: this.#query.source, read, position: read.end });
  }
}

function writePage(page: {
  readonly source: EventQuery['source'];
  readonly read: EventsRead;
  readonly position: number;
}): TextReply {
  const { source, read, position } = page;
  const data = read.events.map(source.write).join(',');
  const next = read.hasMore ? `"${read.end}"` : 'null';
  const name = source.programId === undefined ? 'number' : 'position';
  return { json: `{"data":[${data}],"next_cursor":${next},"${name}":${position}}` };
}

/**
 * Number of events that are read and sent together. They take a few hundred kilobytes, which is the maximum that the service
 * keeps in memory for a slow reader.
 */
const STREAM_LIMIT = 100;

/** How long a browser waits before it reconnects to a stream that has ended. */
const RECONNECT_MILLISECONDS = 1_000;

/** Opens a stream. An invalid start is refused with an error record before the stream begins. */
async function openStream(service: EventService, call: ListCall, query: EventQuery): Promise<StreamReply> {
  const start = readStart(call);
  if (start === null) {
    const head = await readHead(service.database, query.source);
    // The position is sent to the reader, so a standby must have received it. readEvents waits for that.
    await readEvents(service.database, query.source, { before: head + 1 }, 1);
    return { stream: streamFrom(service, call, query, head) };
  }
  const read = await readAfter(service, call, query.source, start, STREAM_LIMIT);
  return { stream: streamFrom(service, call, query, start, read) };
}

/**
 * Returns a stream of the events after a position (or number). It begins with the events that were already read. Before them, it
 * sends the position as an `id` without an event, so that a reader that disconnects before its first event can resume there.
 */
function streamFrom(
  { database, news }: EventService,
  call: ListCall,
  { source }: EventQuery,
  start: number,
  beginning?: EventsRead,
): LiveStream {
  const turns = forEachPiece(call);
  let position = start;
  let sent = start;
  const take = ({ events, end }: EventsRead): string => {
    position = end;
    const last = events.at(-1);
    if (last !== undefined) sent = placeOf(source, last);
    return events.map((event) => writeMessage(placeOf(source, event), event.type, source.write(event))).join('');
  };
  return {
    first: `retry: ${RECONNECT_MILLISECONDS}\nid: ${start}\n\n${beginning === undefined ? '' : take(beginning)}`,
    read: async () =>
      take(await inLiveTurn(turns, () => readEvents(database, source, { after: position }, STREAM_LIMIT))),
    forNews: (milliseconds, signal) => news.wait(source.headOf, position, milliseconds, signal),
    pulse: () => {
      if (position === sent) return ':\n\n';
      // The stream remembers how far it has read, so that a reader that reconnects does not search the excluded events again.
      sent = position;
      return `:\nid: ${position}\n\n`;
    },
  };
}

// Invariant: A reader of events misses none and gets none twice, even if it is disconnected
// Kept by: positions; this file refuses a position if later events are missing
// Tested by: `test/api/events`

/**
 * Reads events after a position (or number) that a caller has sent. If there are none, the position must be the last one. A later
 * position comes from a different service, or the database was restored from a backup. A caller that waited there would miss all
 * events up to that position. An earlier position is refused if the events after it were deleted.
 *
 * @throws {Refusal} `<operation>_schema`, events_expired
 */
async function readAfter(
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
 * connections for requests. The queues have room for the maximum number of waits and streams, of one card program and of all.
 */
const liveReaders = new Turns({ atOnce: 3, waitingOfOne: 128, waitingOfAll: 8192 });

/** Reads for a wait or a stream when it is the card program's turn. All operators together count as one program. */
function inLiveTurn<Value>(call: TurnCall, read: () => Promise<Value>): Promise<Value> {
  return liveReaders.take(call, read);
}

/** A read that several waits share. Its turn must come before `until`, the latest of their deadlines. */
type SharedRead = { readonly read: Promise<EventsRead>; until: number; hasBegun: boolean };

/** Shared reads that have not ended, by the page that they read. */
const readsForWaits = new WeakMap<Database, Map<string, SharedRead>>();

/**
 * Reads like {@link readAfter}, for a wait that was woken. An event wakes all waits of its program at once, and most need the same
 * page, so they share one read. If that read began before the event, it finds nothing, and its waits continue. If the read does not
 * begin before the deadline of one wait, only that wait is refused.
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

/** Returns the result of a shared read, or refuses a wait whose deadline passes before the read begins. */
function inOwnTime(shared: SharedRead, deadline: number): Promise<EventsRead> {
  if (deadline === Number.POSITIVE_INFINITY) return shared.read;
  const late = Promise.withResolvers<never>();
  const expire = (): void => {
    if (!shared.hasBegun) late.reject(tooLate());
  };
  const timer = setTimeout(expire, deadline - performance.now());
  return Promise.race([shared.read, late.promise]).finally(() => clearTimeout(timer));
}

export type ListCall = Call<'list_events'> | Call<'search_events'>;

/** The query of a list. `after` is a position, or a number for operators. */
type EventQuery = {
  readonly source: EventSource;
  readonly limit: number;
  /** Null for a list with the newest events first. */
  readonly after: number | null;
  /** The end of the previous page, in the order of the list. Null for the first page. */
  readonly cursor: number | null;
  readonly waitMilliseconds: number;
};

/** Reads the query of a list. Refuses contradictions, and filters that can never match, because they hide a mistake. */
function readEventQuery(call: ListCall): EventQuery {
  const { limit = DEFAULT_LIMIT, cursor, after, wait } = call.query;
  if (wait !== undefined && after === undefined && call.stream === undefined) {
    throw schemaRefusal(
      call,
      "'wait' can only be sent together with 'after', which says after which event to wait.",
      '/wait',
    );
  }
  if (cursor !== undefined && call.stream !== undefined) {
    throw schemaRefusal(call, "A stream has no 'cursor'. Send the Last-Event-ID header, or 'after'.", '/cursor');
  }
  return {
    source: readSource(call),
    limit,
    after: after ?? null,
    cursor: readPlaceCursor(call, cursor, after),
    waitMilliseconds: (wait ?? 0) * 1000,
  };
}

/** Returns the start of a stream: Last-Event-ID if it was sent, or else `after`. Null means the next event. */
function readStart(call: ListCall): number | null {
  const lastEventId = call.stream?.lastEventId;
  if (lastEventId === undefined) return call.query.after ?? null;
  const place = readPlace(lastEventId);
  if (place !== undefined) return place;
  const what = call.operation === 'list_events' ? 'position' : 'number';
  throw schemaRefusal(call, `The Last-Event-ID header is not the ${what} of an event.`);
}

function readSource(call: ListCall): EventSource {
  const { type, subject_id: subjectId } = call.query;
  const filter = { types: type === undefined ? undefined : readTypes(call, type), subjectId };
  if (call.operation === 'list_events') {
    const { programId } = call;
    return { ...filter, programId, headOf: programId, onlyOf: undefined, write: writeEvent };
  }
  const onlyOf = readProgram(call, call.query.program_id);
  return { ...filter, programId: undefined, headOf: ALL_EVENTS, onlyOf, write: writeOperatorEvent };
}

/** Reads types separated by commas. Each can be a group of types, such as `transfer.*`. */
function readTypes(call: ListCall, sent: string): readonly string[] {
  const types = sent.split(',');
  const unknown = types.find((type) => !isTypeOrGroup(type));
  if (unknown === undefined) return types;
  const where = types.length === 1 ? `is '${unknown}'` : `contains '${unknown}'`;
  const message = `'type' ${where}, which is neither a type of event nor a group of types such as 'transfer.*'. All types are at /events.`;
  throw schemaRefusal(call, message, '/type');
}

function readProgram(call: ListCall, sent: string | undefined): string | undefined {
  if (sent === undefined) return undefined;
  const programId = fromWireId('prog', sent);
  if (programId !== undefined && programId !== EVERY_PROGRAM && programId !== SERVICE_ITSELF) return programId;
  const message = `'program_id' is '${sent}', which is not a program id (prog_ and 32 hex digits).`;
  throw schemaRefusal(call, message, '/program_id');
}

function readPlaceCursor(call: ListCall, cursor: string | undefined, after: number | undefined): number | null {
  if (cursor === undefined) return null;
  const place = readPlace(cursor);
  if (place === undefined || place < (after ?? 1)) throw cursorFault(call);
  return place;
}

function readPlace(text: string): number | undefined {
  const place = /^(?:0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : undefined;
  return place !== undefined && Number.isSafeInteger(place) ? place : undefined;
}
