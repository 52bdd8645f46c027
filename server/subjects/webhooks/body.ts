import { writeEvent, writeOperatorEvent } from '../../calls/records/event.ts';
import type { StoredEvent } from '../../store/events/read-events.ts';
import type { Webhook } from '../../store/webhooks/webhook.ts';

/** The text of an event as it is sent: as its card program, or operators, read it; a thin one without `data`. */
export function writeBody(event: StoredEvent, payload: Webhook['payload'], isForOperators: boolean): string {
  const written = payload === 'full' ? event : { ...event, payload: null };
  return isForOperators ? writeOperatorEvent(written) : writeEvent(written);
}
