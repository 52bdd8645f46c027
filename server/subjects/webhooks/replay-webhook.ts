import { toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, type Reply, schemaRefusal } from '../../calls/call.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import { readOldestPosition } from '../../store/events/event-positions.ts';
import { findReplayStart, insertReplay, toReplayStart } from '../../store/webhooks/new-replay.ts';
import { lockWebhook, readWebhook, type StoredReplay, type WebhookDetails } from '../../store/webhooks/webhook.ts';
import { auditOf } from '../audit/audit.ts';
import { foundWebhook, keysOf, loadWebhook, programOf, webhookIdOf } from './find-webhook.ts';
import { toReplayRecord } from './record.ts';
import type { WebhookService } from './tools.ts';

type ReplayId = 'replay_webhook' | 'replay_operator_webhook';

/**
 * replay_webhook and replay_operator_webhook: a second cursor, which goes through the events up to the webhook's own cursor
 * and sends those of a period. Later events are sent anyway.
 */
export async function replayWebhook(service: WebhookService, call: Call<ReplayId>): Promise<Reply<ReplayId>> {
  const { from, to, only } = call.body;
  if (Date.parse(from) >= Date.parse(to)) {
    throw schemaRefusal(call, `'to' must be later than 'from', but it is '${to}', and 'from' is '${from}'.`, '/to');
  }
  const webhookId = webhookIdOf(call);
  const programId = programOf(call);
  const { programId: ofProgram } = await loadWebhook(service, call);
  const reply = await transactUnderKey(service, call, {
    ...keysOf(call),
    load: {
      lock: lockWebhook(webhookId, programId),
      webhook: readWebhook(webhookId, programId),
      start: findReplayStart(ofProgram, new Date(from)),
      oldest: readOldestPosition(ofProgram ?? undefined),
    },
    decide: (loaded, { now }) => {
      const webhook = foundWebhook(call, loaded.webhook);
      refuseReplay(webhook);
      const start = Math.max(toReplayStart(loaded.start), Number(loaded.oldest[0]?.oldest) - 1);
      const replay: StoredReplay = {
        replayId: idAt(now),
        selection: only,
        from: Date.parse(from),
        to: Date.parse(to),
        cursor: Math.min(start, webhook.cursor),
        untilPosition: webhook.cursor,
        sent: 0,
        state: 'running',
        createdAt: now,
        finishedAt: null,
      };
      const record = toReplayRecord(replay);
      const json = JSON.stringify(record);
      const { webhook_id: subjectId } = call.params;
      const writes = [
        insertReplay({
          ...replay,
          webhookId,
          programId: ofProgram,
          fromAt: new Date(replay.from),
          toAt: new Date(replay.to),
          state: 'running',
          createdAt: new Date(now),
        }),
        ...auditOf(call, { programId: ofProgram, subjectId, details: json }),
      ];
      return { record, json, subjectId: webhookId, writes };
    },
  });
  service.webhooks.changed();
  return reply;
}

/** Refuses a replay to a disabled webhook, and a second replay at a time. */
function refuseReplay({ status, replay }: WebhookDetails): void {
  if (status === 'disabled') {
    const message = 'The webhook is disabled, and a disabled webhook is sent nothing. Enable it first.';
    throw new Refusal('invalid_webhook_status', message);
  }
  if (replay?.state !== 'running') return;
  const message = `The replay '${toWireId('rpl', replay.replayId)}' of the webhook is still running.`;
  throw new Refusal('replay_running', message);
}
