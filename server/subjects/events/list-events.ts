import type { Call, Reply } from '../../calls/call.ts';
import type { EventService } from './event-news.ts';
import { readList } from './read-list.ts';

/** list_events: a page of the card program's events, the wait for the next one, or a stream of them. */
export function listEvents(service: EventService, call: Call<'list_events'>): Promise<Reply<'list_events'>> {
  return readList(service, call);
}
