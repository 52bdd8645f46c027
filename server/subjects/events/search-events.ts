import type { Call, Reply } from '../../calls/call.ts';
import type { EventService } from './event-news.ts';
import { readList } from './read-list.ts';

/** search_events: the same of all card programs and of the service itself, in the order of their numbers. */
export function searchEvents(service: EventService, call: Call<'search_events'>): Promise<Reply<'search_events'>> {
  return readList(service, call);
}
