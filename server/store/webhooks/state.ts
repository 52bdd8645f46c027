import type { WebhookOrder, WebhookPayload, WebhookStatus } from '../../../domain/webhooks/webhook.ts';
import type { Row, Statement } from '../connection/database.ts';
import {
  BOOLEAN,
  BYTES,
  columns,
  INTEGER,
  many,
  NUMBER,
  nullable,
  rows,
  SMALLINT,
  statement,
  TEXT,
  TIME,
  UUID,
  word,
} from '../sql.ts';
import { HELD } from './shard.ts';

// Invariant: Deliveries never overwrite a change of their webhook by a request
// Kept by: the revision, under the lock of the webhook (`storeHealth`)
// Tested by: `test/delivery/failures.test.ts`

const REVISION = columns({ webhookId: UUID, revision: NUMBER, shard: SMALLINT });

export type WebhookRevision = ReturnType<typeof REVISION.read>;

/** Reads the revisions of all webhooks in some shards. */
export const readRevisions = statement(
  'read_webhook_revisions',
  { shards: many(SMALLINT) },
  `select ${REVISION.of('stored')} from (
      select webhook_id, revision, shard from webhook_state join webhook using (webhook_id) where shard = any (:shards)
    ) as stored`,
);

export const toRevisions = (found: readonly Row[]): readonly WebhookRevision[] => found.map(REVISION.read);

const DELIVERED = columns({
  webhookId: UUID,
  programId: nullable(UUID),
  url: TEXT,
  types: nullable(many(TEXT)),
  payload: word<WebhookPayload>(),
  deliveryOrder: word<WebhookOrder>(),
  concurrency: SMALLINT,
  rate: nullable(INTEGER),
  headers: nullable(BYTES),
  revision: NUMBER,
  shard: SMALLINT,
  cursor: NUMBER,
  /** Ranges of positions after the cursor that are already delivered, in PostgreSQL's format: `{[43,45),[47,48)}`. */
  ahead: TEXT,
  status: word<WebhookStatus>(),
  failures: INTEGER,
  failingSince: nullable(TIME),
  lastFailureAt: nullable(TIME),
  lastSuccessAt: nullable(TIME),
  probeTries: SMALLINT,
  nextProbeAt: nullable(TIME),
  isFailingTold: BOOLEAN,
  nextRetryAt: nullable(TIME),
});

/** A webhook with the data that its delivery needs. */
export type DeliveredWebhook = ReturnType<typeof DELIVERED.read>;

export const readDeliveredWebhooks = statement(
  'read_delivered_webhooks',
  { webhookIds: many(UUID) },
  `select ${DELIVERED.names} from (
      select webhook.*, shard, cursor, ahead::text as ahead, status, failures, failing_since, last_failure_at, last_success_at, probe_tries,
        next_probe_at, is_failing_told, (
          select min(next_at) from webhook_delivery
          where webhook_delivery.webhook_id = webhook.webhook_id and state = 'waiting' and kind = 'event'
        ) as next_retry_at
      from webhook join webhook_state using (webhook_id) where webhook_id = any (:webhookIds)
    ) as delivered`,
);

export const toDeliveredWebhooks = (found: readonly Row[]): readonly DeliveredWebhook[] => found.map(DELIVERED.read);

const SECRET = columns({ webhookId: UUID, sealed: BYTES, expiresAt: nullable(TIME) });

/** An encrypted secret for signatures. */
export type SigningSecret = ReturnType<typeof SECRET.read>;

/** Reads the webhooks' secrets that have not expired in real time, newest first. */
export const readSigningSecrets = statement(
  'read_signing_secrets',
  { webhookIds: many(UUID) },
  `select ${SECRET.names} from webhook_secret
    where webhook_id = any (:webhookIds) and (expires_at is null or expires_at > clock_timestamp())
    order by webhook_id, secret_id desc`,
);

export const toSigningSecrets = (found: readonly Row[]): readonly SigningSecret[] => found.map(SECRET.read);

const PROGRESS = columns({
  webhookId: UUID,
  shard: SMALLINT,
  epoch: NUMBER,
  cursor: NUMBER,
  ahead: TEXT,
  lastSuccessAt: nullable(TIME),
  lastFailureAt: nullable(TIME),
});

export type Progress = ReturnType<typeof PROGRESS.read>;

/** Moves cursors forward, never back. Returns the webhooks that the process still holds. */
export const moveCursors = statement(
  'move_webhook_cursors',
  { sent: rows(PROGRESS), owner: UUID },
  `with moved as materialized (select sent.*, sent.ahead::int8multirange as ranges from :sent join ${HELD})
    update webhook_state as stored set cursor = greatest(stored.cursor, sent.cursor), ahead = sent.ranges,
      last_success_at = greatest(stored.last_success_at, sent.last_success_at),
      last_failure_at = greatest(stored.last_failure_at, sent.last_failure_at)
    from moved as sent
    where stored.webhook_id = sent.webhook_id and stored.shard = sent.shard
    returning stored.webhook_id`,
);

const HEALTH = columns({
  webhookId: UUID,
  shard: SMALLINT,
  epoch: NUMBER,
  revision: NUMBER,
  status: word<WebhookStatus>(),
  failures: INTEGER,
  failingSince: nullable(TIME),
  probeTries: SMALLINT,
  nextProbeAt: nullable(TIME),
  /** False if a delivery has succeeded since webhook.failing was written, even if later ones failed. */
  isFailingTold: BOOLEAN,
});

export type StoredHealth = ReturnType<typeof HEALTH.read>;

/** Locks webhooks against changes by requests, so that a decision about an older revision cannot overwrite a change. */
export const lockRevisions = statement(
  'lock_webhook_revisions',
  { webhookIds: many(UUID) },
  'select webhook_id from webhook where webhook_id = any (:webhookIds) order by webhook_id for share',
);

/**
 * Stores the health of webhooks. Skips webhooks that a request has changed in the meantime. Returns the webhooks that it stored.
 */
export const storeHealth = statement(
  'store_webhook_health',
  { sent: rows(HEALTH), owner: UUID },
  `update webhook_state as stored set status = sent.status, failures = sent.failures,
      failing_since = sent.failing_since, probe_tries = sent.probe_tries, next_probe_at = sent.next_probe_at,
      is_failing_told = stored.is_failing_told and sent.is_failing_told
    from :sent join ${HELD} join webhook on webhook.webhook_id = sent.webhook_id and webhook.revision = sent.revision
    where stored.webhook_id = sent.webhook_id and stored.shard = sent.shard
    returning stored.webhook_id`,
);

const READ_REVISION = statement(
  'read_webhook_revision',
  { webhookId: UUID },
  'select revision, is_failing_told from webhook join webhook_state using (webhook_id) where webhook_id = :webhookId',
);

/** Reads `revision` and `is_failing_told` of a webhook. The webhook must be locked. */
export function readRevision(webhookId: string): Statement {
  return READ_REVISION({ webhookId });
}

const NOTE_FAILING_TOLD = statement(
  'note_webhook_failing_told',
  { webhookId: UUID },
  'update webhook_state set is_failing_told = true where webhook_id = :webhookId',
);

/** Records that webhook.failing was written for the current failures in a row. */
export function noteFailingTold(webhookId: string): Statement {
  return NOTE_FAILING_TOLD({ webhookId });
}

const RAISE_REVISION = statement(
  'raise_webhook_revision',
  { webhookId: UUID },
  'update webhook set revision = revision + 1 where webhook_id = :webhookId',
);

/** Records that a webhook was changed, but not by a request about it. */
export function raiseRevision(webhookId: string): Statement {
  return RAISE_REVISION({ webhookId });
}
