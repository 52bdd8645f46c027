import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';

/** list_events. */
export async function listEvents(_service: Service, _call: Call<'list_events'>): Promise<Reply<'list_events'>> {
  throw new Error('Events cannot be read yet.');
}
