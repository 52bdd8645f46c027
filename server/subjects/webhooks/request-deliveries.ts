import { toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, type Reply, schemaRefusal } from '../../calls/call.ts';
import { loadEvent, writeBody } from '../../calls/records/event.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import { readOldestPosition } from '../../store/events/event-positions.ts';
import type { StoredEvent } from '../../store/events/read-events.ts';
import { requestDelivery } from '../../store/webhooks/delivery.ts';
import { findReplayStart, insertReplay, toReplayStart } from '../../store/webhooks/replay.ts';
import {
  lockWebhook,
  readWebhook,
  type StoredReplay,
  shardOf,
  type WebhookDetails,
} from '../../store/webhooks/webhook.ts';
import { auditOf } from '../audit/audit.ts';
import { foundWebhook, keysOf, loadWebhook, programOf, webhookIdOf } from './read-webhooks.ts';
import { toReplayRecord, toWebhookRecord } from './record.ts';
import type { WebhookService } from './settings.ts';

type TestId = 'test_webhook' | 'test_operator_webhook';

/**
 * test_webhook and test_operator_webhook: return the id of an event webhook.tested. It is sent immediately and only to this
 * webhook, even if the webhook is paused or disabled. It is not stored as an event and has no position.
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

type ResendId = 'resend_event' | 'resend_operator_event';

/**
 * resend_event and resend_operator_event: request that an event be sent again immediately, regardless of the webhook's status and
 * types. If the webhook belongs to a card program, the event must belong to the same program.
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

/** Returns the position of an event, or its number for operators. An event for every program has no number. */
function placeFor(programId: string | null, { position, number, isShared }: StoredEvent): number | null {
  if (programId !== null) return position;
  return isShared ? null : number;
}

type ReplayId = 'replay_webhook' | 'replay_operator_webhook';

/**
 * replay_webhook and replay_operator_webhook: create a second cursor, which sends the events of a period, up to the webhook's own
 * cursor. Later events will be sent anyway.
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

/** Refuses a replay if the webhook is disabled or another replay is running. */
function refuseReplay({ status, replay }: WebhookDetails): void {
  if (status === 'disabled') {
    const message = 'The webhook is disabled, and a disabled webhook is sent nothing. Enable it first.';
    throw new Refusal('invalid_webhook_status', message);
  }
  if (replay?.state !== 'running') return;
  const message = `The replay '${toWireId('rpl', replay.replayId)}' of the webhook is still running.`;
  throw new Refusal('replay_running', message);
}
