import { toWireId } from '../../../domain/identifier.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { writeBody } from '../../calls/records/event.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import { requestDelivery } from '../../store/webhooks/delivery.ts';
import { lockWebhook, readWebhook, shardOf } from '../../store/webhooks/webhook.ts';
import { auditOf } from '../audit/audit.ts';
import { foundWebhook, keysOf, programOf, webhookIdOf } from './find-webhook.ts';
import { toWebhookRecord } from './record.ts';
import type { WebhookService } from './tools.ts';

type TestId = 'test_webhook' | 'test_operator_webhook';

/**
 * test_webhook and test_operator_webhook: the id of an event webhook.tested, which is sent at once and only to this webhook,
 * whatever its status. It is not stored as an event and has no position.
 */
export async function testWebhook(service: WebhookService, call: Call<TestId>): Promise<Reply<TestId>> {
  const webhookId = webhookIdOf(call);
  const programId = programOf(call);
  const reply = await transactUnderKey(service, call, {
    ...keysOf(call),
    load: { lock: lockWebhook(webhookId, programId), webhook: readWebhook(webhookId, programId) },
    decide: (loaded, { now }) => {
      const webhook = foundWebhook(call, loaded.webhook);
      const { programId: ofProgram } = webhook;
      const eventId = idAt(now);
      const shown = toWebhookRecord(webhook);
      const event = {
        eventId,
        programId: ofProgram,
        position: 0,
        number: 0,
        isShared: false,
        type: 'webhook.tested',
        subjectId: shown.webhook_id,
        createdAt: new Date(now),
        payload: JSON.stringify(shown),
        traceparent: null,
      };
      const record = {
        webhook_id: shown.webhook_id,
        event_id: toWireId('evt', eventId),
        state: 'waiting' as const,
      };
      const writes = [
        requestDelivery({
          webhookId,
          kind: 'test',
          eventId,
          programId: ofProgram,
          shard: shardOf(webhookId),
          position: 0,
          body: writeBody(event, webhook.payload, ofProgram === null),
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
