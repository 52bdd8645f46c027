import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { readList } from './read-list.ts';

/** search_events: the same of all card programs and of the service itself, in the order of their numbers. */
export function searchEvents(service: Service, call: Call<'search_events'>): Promise<Reply<'search_events'>> {
  return readList(service, call);
}
