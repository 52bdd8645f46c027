import type { Call, Reply } from '../../calls/call.ts';
import { checkVersion } from '../../calls/version.ts';
import { transact } from '../../commit/transaction.ts';
import { deleteWebhook as deleteStatement, lockWebhook, readWebhook } from '../../store/webhooks/webhook.ts';
import { auditOf } from '../audit/audit.ts';
import { foundWebhook, programOf, webhookIdOf } from './find-webhook.ts';
import { toWebhookRecord } from './record.ts';
import type { WebhookService } from './tools.ts';

type DeleteId = 'delete_webhook' | 'delete_operator_webhook';

/** delete_webhook and delete_operator_webhook: the last record of the webhook. Requests in flight may still arrive. */
export async function deleteWebhook(service: WebhookService, call: Call<DeleteId>): Promise<Reply<DeleteId>> {
  const webhookId = webhookIdOf(call);
  const programId = programOf(call);
  const load = { lock: lockWebhook(webhookId, programId), webhook: readWebhook(webhookId, programId) };
  const reply = await transact(service.database, call.deadline, load, ({ webhook: rows }) => {
    const webhook = foundWebhook(call, rows);
    const record = toWebhookRecord(webhook);
    checkVersion(call.ifMatch, 'webhook', record);
    const json = JSON.stringify(record);
    const audited = { programId: webhook.programId, subjectId: record.webhook_id, details: json };
    return { result: { record, json }, writes: [deleteStatement(webhookId), ...auditOf(call, audited)] };
  });
  service.webhooks.changed();
  return reply;
}
