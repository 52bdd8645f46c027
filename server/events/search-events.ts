import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';

/** search_events. */
export async function searchEvents(_service: Service, _call: Call<'search_events'>): Promise<Reply<'search_events'>> {
  throw new Error('Events cannot be read yet.');
}
