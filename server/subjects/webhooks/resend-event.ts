import type { Call, Reply } from '../../calls/call.ts';
import { loadEvent } from '../../calls/records/event.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import type { StoredEvent } from '../../store/events/read-events.ts';
import { requestDelivery } from '../../store/webhooks/delivery.ts';
import { lockWebhook, readWebhook, shardOf } from '../../store/webhooks/webhook.ts';
import { auditOf } from '../audit/audit.ts';
import { foundWebhook, keysOf, loadWebhook, programOf, webhookIdOf } from './find-webhook.ts';
import type { WebhookService } from './tools.ts';

type ResendId = 'resend_event' | 'resend_operator_event';

/**
 * resend_event and resend_operator_event: requests that an event is sent again, at once, whatever the status and the types of
 * the webhook. If the webhook belongs to a card program, the event must belong to it, too.
 */
export async function resendEvent(service: WebhookService, call: Call<ResendId>): Promise<Reply<ResendId>> {
  const { event_id: sentId } = call.body;
  const webhookId = webhookIdOf(call);
  const programId = programOf(call);
  const { programId: ofProgram } = await loadWebhook(service, call);
  const event = await loadEvent(service, sentId, ofProgram ?? undefined);
  const reply = await transactUnderKey(service, call, {
    ...keysOf(call),
    load: { lock: lockWebhook(webhookId, programId), webhook: readWebhook(webhookId, programId) },
    decide: (loaded, { now }) => {
      foundWebhook(call, loaded.webhook);
      const record = { webhook_id: call.params.webhook_id, event_id: sentId, state: 'waiting' as const };
      const writes = [
        requestDelivery({
          webhookId,
          kind: 'resend',
          eventId: event.eventId,
          programId: ofProgram,
          shard: shardOf(webhookId),
          position: placeFor(ofProgram, event),
          body: null,
          createdAt: now,
        }),
        ...auditOf(call, { programId: ofProgram, subjectId: record.webhook_id, details: JSON.stringify(record) }),
      ];
      return { record, subjectId: webhookId, writes };
    },
  });
  service.webhooks.changed();
  return reply;
}

/** The position of an event; for a webhook of operators its number, which an event for every program does not have. */
function placeFor(programId: string | null, { position, number, isShared }: StoredEvent): number | null {
  if (programId !== null) return position;
  return isShared ? null : number;
}
