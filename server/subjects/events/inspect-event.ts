import type { Call, Reply } from '../../calls/call.ts';
import { loadEvent } from '../../calls/find-event.ts';
import { writeOperatorEvent } from '../../calls/records/event.ts';
import type { Service } from '../../calls/service.ts';

/** inspect_event: any event, or `event_not_found`. */
export async function inspectEvent(service: Service, call: Call<'inspect_event'>): Promise<Reply<'inspect_event'>> {
  return { json: writeOperatorEvent(await loadEvent(service, call.params.event_id)) };
}
