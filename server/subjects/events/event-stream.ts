import type { LiveStream, StreamReply } from '../../calls/call.ts';
import { writeMessage } from '../../calls/records/event.ts';
import { forEachPiece } from '../../calls/turns.ts';
import type { EventService } from './event-news.ts';
import { type EventQuery, type ListCall, readStart } from './event-query.ts';
import { type EventsRead, placeOf, readEvents, readHead } from './event-source.ts';
import { inLiveTurn, readAfter } from './read-after.ts';

/** Events that are read and sent at once: a few hundred kilobytes, the most that a slow reader keeps in memory. */
const STREAM_LIMIT = 100;

/** Time after which a browser reconnects when a stream has ended. */
const RECONNECT_MILLISECONDS = 1_000;

/** Opens a stream. An invalid start is refused before the stream begins, with an error record. */
export async function openStream(service: EventService, call: ListCall, query: EventQuery): Promise<StreamReply> {
  const start = readStart(call);
  if (start === null) {
    const head = await readHead(service.database, query.source);
    // The position is sent, so a standby must have it: readEvents waits for that.
    await readEvents(service.database, query.source, { before: head + 1 }, 1);
    return { stream: streamFrom(service, call, query, head) };
  }
  const read = await readAfter(service, call, query.source, start, STREAM_LIMIT);
  return { stream: streamFrom(service, call, query, start, read) };
}

/**
 * A stream of the events after a position (or number), beginning with those that were already read. First it sends the
 * position as an `id` without an event, so that a reader that is disconnected before its first event resumes there.
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
  /** The last position that was sent to the reader. */
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
      // After a reconnection, events that the filters excluded need not be read again.
      sent = position;
      return `:\nid: ${position}\n\n`;
    },
  };
}
