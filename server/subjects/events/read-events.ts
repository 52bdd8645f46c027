import { performance } from 'node:perf_hooks';
import type { Call, LiveReply, LiveStream, Reply, Service, StreamReply, TextReply } from '../../calls/call.ts';
import { loadEvent, writeEvent, writeMessage, writeOperatorEvent } from '../../calls/records/event.ts';
import { forEachPiece, type TurnCall } from '../../calls/turns.ts';
import type { EventService } from './event-news.ts';
import { type EventQuery, type ListCall, readEventQuery, readStart } from './event-query.ts';
import { type EventsRead, placeOf, readEvents, readHead } from './event-source.ts';
import { inLiveTurn, readAfter, readForWait } from './read-after.ts';

/** list_events: a page of the card program's events, a wait for the next event, or a stream of events. */
export function listEvents(service: EventService, call: Call<'list_events'>): Promise<Reply<'list_events'>> {
  return readList(service, call);
}

/** search_events: works like list_events for all card programs and the service itself, ordered by number. */
export function searchEvents(service: EventService, call: Call<'search_events'>): Promise<Reply<'search_events'>> {
  return readList(service, call);
}

/** get_event: an event of the card program. Events of other programs, and of the service, are `event_not_found`. */
export async function getEvent(service: Service, call: Call<'get_event'>): Promise<Reply<'get_event'>> {
  return { json: writeEvent(await loadEvent(service, call.params.event_id, call.programId)) };
}

export async function inspectEvent(service: Service, call: Call<'inspect_event'>): Promise<Reply<'inspect_event'>> {
  return { json: writeOperatorEvent(await loadEvent(service, call.params.event_id)) };
}

/** Returns a page of events. With `wait`, or as a stream, it includes future events. */
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

/** A list with the oldest event first. It can wait for the next event. */
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

  /** Returns the page after a position. If it is empty, the reply waits for the next event until `until`. */
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
 * Events that are read and sent at once. They take a few hundred kilobytes, the most that a slow reader keeps in memory.
 */
const STREAM_LIMIT = 100;

/** How long a browser waits before it reconnects to a stream that has ended. */
const RECONNECT_MILLISECONDS = 1_000;

/** Opens a stream. An invalid start is refused before the stream begins, with an error record. */
async function openStream(service: EventService, call: ListCall, query: EventQuery): Promise<StreamReply> {
  const start = readStart(call);
  if (start === null) {
    const head = await readHead(service.database, query.source);
    // The position is sent to the reader, so a standby must have it. readEvents waits for that.
    await readEvents(service.database, query.source, { before: head + 1 }, 1);
    return { stream: streamFrom(service, call, query, head) };
  }
  const read = await readAfter(service, call, query.source, start, STREAM_LIMIT);
  return { stream: streamFrom(service, call, query, start, read) };
}

/**
 * Returns a stream of the events after a position (or number). It begins with the events that were already read. First it
 * sends the position as an `id` without an event. A reader that disconnects before its first event resumes there.
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
      // After a reconnection, the events that the filters excluded need not be read again.
      sent = position;
      return `:\nid: ${position}\n\n`;
    },
  };
}
