import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { writeOperatorEvent } from './event-text.ts';
import { loadEvent } from './get-event.ts';

/** inspect_event: any event, or `event_not_found`. */
export async function inspectEvent(service: Service, call: Call<'inspect_event'>): Promise<Reply<'inspect_event'>> {
  return { json: writeOperatorEvent(await loadEvent(service, call.params.event_id)) };
}
