import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';

/** inspect_event. */
export async function inspectEvent(_service: Service, _call: Call<'inspect_event'>): Promise<Reply<'inspect_event'>> {
  throw new Error('Events cannot be read yet.');
}
