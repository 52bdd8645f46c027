import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';

/** get_event. */
export async function getEvent(_service: Service, _call: Call<'get_event'>): Promise<Reply<'get_event'>> {
  throw new Error('Events cannot be read yet.');
}
