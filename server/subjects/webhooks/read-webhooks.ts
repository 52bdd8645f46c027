import { fromWireId } from '../../../domain/identifier.ts';
import { type Call, type Reply, schemaRefusal } from '../../calls/call.ts';
import { readCursor, readPage } from '../../calls/page.ts';
import { readProgramFilter } from '../../calls/program.ts';
import type { Service } from '../../calls/service.ts';
import { listAttempts, toAttempt } from '../../store/webhooks/attempt.ts';
import { listWebhooks as listStatement, toWebhookDetails, type WebhookFilter } from '../../store/webhooks/webhook.ts';
import { loadWebhook } from './find-webhook.ts';
import { toAttemptRecord, toWebhookRecord } from './record.ts';

type GetId = 'get_webhook' | 'get_operator_webhook';
type ListId = 'list_webhooks' | 'list_operator_webhooks';
type AttemptsId = 'list_webhook_attempts' | 'list_operator_webhook_attempts';

/** get_webhook and get_operator_webhook: the webhook, or `webhook_not_found`. */
export async function getWebhook(service: Service, call: Call<GetId>): Promise<Reply<GetId>> {
  return { record: toWebhookRecord(await loadWebhook(service, call)) };
}

/** list_webhooks: the webhooks of the card program, newest first. */
export function listWebhooks(service: Service, call: Call<'list_webhooks'>): Promise<Reply<ListId>> {
  return list(service, call, { programId: call.programId, status: null });
}

/** list_operator_webhooks: the webhooks of all card programs and of operators, newest first. */
export function listOperatorWebhooks(service: Service, call: Call<'list_operator_webhooks'>): Promise<Reply<ListId>> {
  const { program_id: programId, status = null } = call.query;
  return list(service, call, { programId: readProgramFilter(call, programId), status });
}

async function list(service: Service, call: Call<ListId>, filter: WebhookFilter): Promise<Reply<ListId>> {
  const record = await readPage(service, call, {
    prefix: 'wh',
    statement: (after, count) => listStatement(filter, after, count),
    read: toWebhookDetails,
    idOf: ({ webhookId }) => webhookId,
    show: toWebhookRecord,
  });
  return { record };
}

/** list_webhook_attempts and list_operator_webhook_attempts: what was sent to a webhook, newest first. */
export async function listWebhookAttempts(service: Service, call: Call<AttemptsId>): Promise<Reply<AttemptsId>> {
  const { event_id: sentId, succeeded, cursor } = call.query;
  readCursor(call, 'att', cursor);
  const filter = {
    eventId: sentId === undefined ? null : readEventId(call, sentId),
    succeeded: succeeded === undefined ? null : succeeded === 'true',
  };
  const { webhookId } = await loadWebhook(service, call);
  const record = await readPage(service, call, {
    prefix: 'att',
    statement: (after, count) => listAttempts(webhookId, filter, after, count),
    read: toAttempt,
    idOf: ({ attemptId }) => attemptId,
    show: toAttemptRecord,
  });
  return { record };
}

function readEventId(call: Call<AttemptsId>, sentId: string): string {
  const eventId = fromWireId('evt', sentId);
  if (eventId !== undefined) return eventId;
  const message = `'event_id' is '${sentId}', which is not an event id (evt_ and 32 hex digits).`;
  throw schemaRefusal(call, message, '/event_id');
}
