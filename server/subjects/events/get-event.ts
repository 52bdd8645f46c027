import type { Call, Reply } from '../../calls/call.ts';
import { loadEvent } from '../../calls/find-event.ts';
import { writeEvent } from '../../calls/records/event.ts';
import type { Service } from '../../calls/service.ts';

/** get_event: an event of the card program. Events of other programs, or of the service, are `event_not_found`. */
export async function getEvent(service: Service, call: Call<'get_event'>): Promise<Reply<'get_event'>> {
  return { json: writeEvent(await loadEvent(service, call.params.event_id, call.programId)) };
}
