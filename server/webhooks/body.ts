import { writeEvent, writeOperatorEvent } from '../events/event-text.ts';
import type { StoredEvent } from '../store/events/read-events.ts';
import type { Webhook } from '../store/webhooks/webhook.ts';

/** The text of an event as it is sent to a webhook: as its card program, or operators, read it; a thin one without `data`. */
export function writeBody({ programId, payload }: Pick<Webhook, 'programId' | 'payload'>, event: StoredEvent): string {
  return programId === null ? writeOperatorEvent(event, payload) : writeEvent(event, payload);
}
