import type { LiveStream, StreamReply } from '../../calls/call.ts';
import { writeMessage } from '../../calls/records/event.ts';
import { forEachPiece } from '../../calls/turns.ts';
import type { EventService } from './event-news.ts';
import { type EventQuery, type ListCall, readStart } from './event-query.ts';
import { type EventsRead, placeOf, readEvents, readHead } from './event-source.ts';
import { inLiveTurn, readAfter } from './read-after.ts';

/** Events that are read and sent at once: some hundred kilobytes, of which a slow reader keeps one part in memory. */
const STREAM_LIMIT = 100;

/** Time after which browsers connect again when a stream has ended. */
const RECONNECT_MILLISECONDS = 1_000;

/** Opens a stream. What is wrong with its beginning is refused here, with an error record. */
export async function openStream(service: EventService, call: ListCall, query: EventQuery): Promise<StreamReply> {
  const start = readStart(call);
  if (start === null) {
    const head = await readHead(service.database, query.source);
    // For its proof: the position is sent.
    await readEvents(service.database, query.source, { before: head + 1 }, 1);
    return { stream: streamFrom(service, call, query, head) };
  }
  const read = await readAfter(service, call, query.source, start, STREAM_LIMIT);
  return { stream: streamFrom(service, call, query, start, read) };
}

/**
 * A stream after a position (or number), beginning with what was read already. It begins by sending that position as `id`,
 * without an event: a reader that is disconnected before its first event resumes there, and not with the next event.
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
  /** The last position that the reader knows of. */
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
      // What the filters left out need not be read again.
      sent = position;
      return `:\nid: ${position}\n\n`;
    },
  };
}
