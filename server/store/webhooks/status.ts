import type { WebhookStatusReason } from '../../../domain/webhooks/webhook.ts';
import type { Statement } from '../connection/database.ts';
import { DATE, NUMBER, nullable, SMALLINT, statement, UUID, word } from '../sql.ts';

const INSERT_STATE = statement(
  'insert_webhook_state',
  { webhookId: UUID, programId: nullable(UUID), shard: SMALLINT, cursor: NUMBER },
  `insert into webhook_state (webhook_id, program_id, shard, cursor, status)
    values (:webhookId, :programId, :shard, :cursor, 'enabled')`,
);

/** Inserts the state of a new webhook. The events after the cursor are sent. */
export function insertState(state: {
  readonly webhookId: string;
  readonly programId: string | null;
  readonly shard: number;
  readonly cursor: number;
}): Statement {
  return INSERT_STATE(state);
}

const ENABLE_WEBHOOK = statement(
  'enable_webhook',
  { webhookId: UUID, cursor: nullable(NUMBER) },
  `update webhook_state set status = 'enabled', status_reason = null, failures = 0, failing_since = null, probe_tries = 0,
      next_probe_at = null, is_failing_told = false, cursor = greatest(cursor, coalesce(:cursor, cursor))
    where webhook_id = :webhookId`,
);

/**
 * Enables a webhook and resets its health. It continues with the events after its cursor, or after a later cursor if one is given.
 */
export function enableWebhook(webhookId: string, cursor: number | null): Statement {
  return ENABLE_WEBHOOK({ webhookId, cursor });
}

const PROBE_NOW = statement(
  'probe_webhook_now',
  { webhookId: UUID, now: DATE },
  'update webhook_state set next_probe_at = :now where webhook_id = :webhookId',
);

/** Makes the next probe of a paused webhook due. `now` is the real time. */
export function probeNow(webhookId: string, now: Date): Statement {
  return PROBE_NOW({ webhookId, now });
}

const DISABLE_WEBHOOK = statement(
  'disable_webhook',
  { webhookId: UUID, reason: word<WebhookStatusReason>() },
  `update webhook_state set status = 'disabled', status_reason = :reason, next_probe_at = null
    where webhook_id = :webhookId`,
);

/** Disables a webhook. Its cursor stays. The caller must also cancel its replay. */
export function disableWebhook(webhookId: string, reason: WebhookStatusReason): Statement {
  return DISABLE_WEBHOOK({ webhookId, reason });
}

const CANCEL_REPLAY = statement(
  'cancel_webhook_replay',
  { webhookId: UUID, now: DATE },
  `update webhook_replay set state = 'canceled', finished_at = :now where webhook_id = :webhookId and state = 'running'`,
);

export function cancelReplay(webhookId: string, now: Date): Statement {
  return CANCEL_REPLAY({ webhookId, now });
}

const GIVE_UP_RETRIES = statement(
  'give_up_webhook_retries',
  { webhookId: UUID },
  `update webhook_delivery set state = 'dead', next_at = null
    where webhook_id = :webhookId and kind = 'event' and state = 'waiting'`,
);

/** Marks as dead the webhook's failed events that are waiting for a retry. */
export function giveUpRetries(webhookId: string): Statement {
  return GIVE_UP_RETRIES({ webhookId });
}
