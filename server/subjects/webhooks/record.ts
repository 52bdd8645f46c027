import type {
  AttemptRecord,
  NewWebhookRecord,
  ReplayRecord,
  WebhookRecord,
} from '../../../contract/webhooks/records.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { Attempt } from '../../store/webhooks/attempt.ts';
import type { StoredReplay, WebhookDetails } from '../../store/webhooks/webhook.ts';

export function toWebhookRecord(webhook: WebhookDetails): WebhookRecord {
  return {
    webhook_id: toWireId('wh', webhook.webhookId),
    program_id: webhook.programId === null ? null : toWireId('prog', webhook.programId),
    url: webhook.url,
    description: webhook.description,
    types: webhook.types === null ? null : [...webhook.types],
    payload: webhook.payload,
    order: webhook.deliveryOrder,
    concurrency: webhook.concurrency,
    rate: webhook.rate,
    header_names: [...webhook.headerNames],
    version: webhook.version,
    status: webhook.status,
    // A webhook is paused only because it fails.
    status_reason: webhook.status === 'paused' ? 'failing' : webhook.statusReason,
    secrets: webhook.secrets.map(({ secretId, createdAt, expiresAt }) => ({
      secret_id: toWireId('sec', secretId),
      created_at: toMoment(createdAt),
      expires_at: expiresAt === null ? null : toMoment(expiresAt),
    })),
    position: webhook.cursor,
    backlog: webhook.backlog,
    failures: webhook.failures,
    failing_since: webhook.failingSince?.toISOString() ?? null,
    last_success_at: webhook.lastSuccessAt?.toISOString() ?? null,
    last_failure_at: webhook.lastFailureAt?.toISOString() ?? null,
    next_attempt_at: nextAttemptOf(webhook)?.toISOString() ?? null,
    dead: webhook.dead,
    replay: webhook.replay === null ? null : toReplayRecord(webhook.replay),
    created_at: webhook.createdAt.toISOString(),
    updated_at: webhook.updatedAt.toISOString(),
  };
}

/** In strict order, a failed event has no separate row: it is sent again at the time of the next probe. */
function nextAttemptOf({ status, deliveryOrder, nextProbeAt, nextRetryAt }: WebhookDetails): Date | null {
  if (status === 'disabled') return null;
  const isHeldBack = status === 'paused' || (deliveryOrder === 'strict' && nextProbeAt !== null);
  return isHeldBack ? nextProbeAt : nextRetryAt;
}

const SECRET_OMITTED =
  'The secret is in the first response only. If that response was lost, roll the secret of this webhook with a new ' +
  'Idempotency-Key to get a new one.';

/** Returns a webhook with a new secret. The secret is null in a replay. */
export function toNewWebhookRecord(webhook: WebhookDetails, secret: string | null): NewWebhookRecord {
  return { ...toWebhookRecord(webhook), secret, secret_omitted: secret === null ? SECRET_OMITTED : null };
}

export function toReplayRecord(replay: StoredReplay): ReplayRecord {
  return {
    replay_id: toWireId('rpl', replay.replayId),
    only: replay.selection,
    from: toMoment(replay.from),
    to: toMoment(replay.to),
    position: replay.cursor,
    until_position: replay.untilPosition,
    sent: replay.sent,
    state: replay.state,
    created_at: toMoment(replay.createdAt),
    finished_at: replay.finishedAt === null ? null : toMoment(replay.finishedAt),
  };
}

export function toAttemptRecord(attempt: Attempt): AttemptRecord {
  return {
    attempt_id: toWireId('att', attempt.attemptId),
    webhook_id: toWireId('wh', attempt.webhookId),
    program_id: attempt.programId === null ? null : toWireId('prog', attempt.programId),
    event_id: toWireId('evt', attempt.eventId),
    type: attempt.eventType,
    position: attempt.position,
    kind: attempt.kind,
    try: attempt.try,
    started_at: toMoment(attempt.startedAt),
    milliseconds: attempt.milliseconds,
    succeeded: attempt.succeeded,
    status: attempt.status,
    address: attempt.address,
    error: attempt.error,
    message: attempt.message,
    response_start: attempt.responseStart,
  };
}

function toMoment(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
