import { EVERY_PROGRAM } from '../../../domain/event.ts';
import type {
  ReplaySelection,
  ReplayState,
  WebhookOrder,
  WebhookPayload,
  WebhookStatus,
  WebhookStatusReason,
} from '../../../domain/webhooks/webhook.ts';
import type { Row, Statement } from '../connection/database.ts';
import {
  BYTES,
  columns,
  DATE,
  INTEGER,
  insertRow,
  json,
  many,
  NUMBER,
  nullable,
  type RowOf,
  SMALLINT,
  statement,
  TEXT,
  UUID,
  word,
} from '../sql.ts';

const WEBHOOK = columns({
  webhookId: UUID,
  /**
   * Null for a webhook of operators. Such a webhook gets the events of all programs and of the service, in the order of their
   * numbers.
   */
  programId: nullable(UUID),
  url: TEXT,
  description: nullable(TEXT),
  /** Types and groups of events. Null for all. */
  types: nullable(many(TEXT)),
  payload: word<WebhookPayload>(),
  deliveryOrder: word<WebhookOrder>(),
  concurrency: SMALLINT,
  /** Maximum number of requests per second. Null for no limit. */
  rate: nullable(INTEGER),
  headerNames: many(TEXT),
  /** The encrypted headers. Null if there are none. */
  headers: nullable(BYTES),
  version: TEXT,
  createdAt: DATE,
  updatedAt: DATE,
});

/** The fields of a webhook that callers set. */
export type Webhook = RowOf<typeof WEBHOOK.columns>;

const DETAILS = columns({
  ...WEBHOOK.columns,
  status: word<WebhookStatus>(),
  statusReason: nullable(word<WebhookStatusReason>()),
  /** Every event up to this position, or number, has been sent at least once. */
  cursor: NUMBER,
  backlog: NUMBER,
  /** The number of failures in a row. */
  failures: INTEGER,
  failingSince: nullable(DATE),
  lastSuccessAt: nullable(DATE),
  lastFailureAt: nullable(DATE),
  /** While the webhook is paused: when the next event is tried. */
  nextProbeAt: nullable(DATE),
  /** When the next failed event is sent again. */
  nextRetryAt: nullable(DATE),
  /** The number of failed events that will be sent again. */
  retries: NUMBER,
  /** The number of dead events, counted up to a maximum. */
  dead: NUMBER,
  secrets: json<readonly StoredSecret[]>('json'),
  replay: nullable(json<StoredReplay>('json')),
});

/** A secret that still signs. Times are in milliseconds since 1970. */
export type StoredSecret = {
  readonly secretId: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
};

/** The last replay of a webhook. Times are in milliseconds since 1970. */
export type StoredReplay = {
  readonly replayId: string;
  readonly selection: ReplaySelection;
  readonly from: number;
  readonly to: number;
  readonly cursor: number;
  readonly untilPosition: number;
  readonly sent: number;
  readonly state: ReplayState;
  readonly createdAt: number;
  readonly finishedAt: number | null;
};

export type WebhookDetails = RowOf<typeof DETAILS.columns>;

const milliseconds = (time: string): string => `(extract(epoch from ${time}) * 1000)::bigint`;

const SECRETS = `(
    select coalesce(json_agg(json_build_object('secretId', secret_id, 'createdAt', ${milliseconds('created_at')},
      'expiresAt', ${milliseconds('expires_at')}) order by secret_id desc), '[]')
    from webhook_secret
    where webhook_secret.webhook_id = webhook.webhook_id and (expires_at is null or expires_at > clock_timestamp())
  )`;

/** SQL: the running replay, or the last one. In a sandbox whose clock was moved back, later replays can have lower ids. */
const REPLAY = `(
    select json_build_object('replayId', replay_id, 'selection', selection, 'from', ${milliseconds('from_at')},
      'to', ${milliseconds('to_at')}, 'cursor', webhook_replay.cursor, 'untilPosition', until_position, 'sent', sent,
      'state', state, 'createdAt', ${milliseconds('created_at')}, 'finishedAt', ${milliseconds('finished_at')})
    from webhook_replay where webhook_replay.webhook_id = webhook.webhook_id
    order by (state = 'running') desc, replay_id desc limit 1
  )`;

const HEAD = `(
    select position from event_head where event_head.program_id = coalesce(webhook.program_id, '${EVERY_PROGRAM}')
  )`;

/** Maximum number of deliveries that are counted per webhook, so that a page of webhooks stays quick even if many have failed. */
const MAX_COUNTED = 100_000;

const DELIVERIES = `(
    select min(next_at) filter (where kind = 'event') as next_retry_at,
      count(*) filter (where kind = 'event' and state = 'waiting') as retries,
      count(*) filter (where kind = 'event' and state = 'dead') as dead
    from (
      select kind, state, next_at from webhook_delivery
      where webhook_delivery.webhook_id = webhook.webhook_id limit ${MAX_COUNTED}
    ) as counted
  )`;

const SELECT_DETAILS = `select ${WEBHOOK.of('webhook')}, state.status, state.status_reason, state.cursor,
    greatest(coalesce(${HEAD}, 0) - state.cursor, 0) as backlog, state.failures, state.failing_since, state.last_success_at,
    state.last_failure_at, state.next_probe_at, delivery.*, ${SECRETS} as secrets, ${REPLAY} as replay
  from webhook join webhook_state as state using (webhook_id) cross join lateral ${DELIVERIES} as delivery`;

const READ_WEBHOOK = statement(
  'read_webhook',
  { webhookId: UUID, programId: nullable(UUID) },
  `${SELECT_DETAILS}
    where webhook.webhook_id = :webhookId and (:programId::uuid is null or webhook.program_id = :programId)`,
);

/** Reads a webhook. If a program is given, the webhook must belong to it. */
export function readWebhook(webhookId: string, programId: string | null): Statement {
  return READ_WEBHOOK({ webhookId, programId });
}

export const toWebhookDetails: (row: Row) => WebhookDetails = DETAILS.read;

export type WebhookFilter = { readonly programId: string | null; readonly status: WebhookStatus | null };

const LIST_WEBHOOKS = statement(
  'list_webhooks',
  { programId: nullable(UUID), status: nullable(word<WebhookStatus>()), after: nullable(UUID), count: NUMBER },
  `${SELECT_DETAILS}
    where (:programId::uuid is null or webhook.program_id = :programId)
      and (:status::text is null or state.status = :status) and (:after::uuid is null or webhook.webhook_id < :after)
    order by webhook.webhook_id desc limit :count`,
);

/** Reads a page of webhooks, newest first, after the webhook `after`. */
export function listWebhooks(filter: WebhookFilter, after: string | null, count: number): Statement {
  return LIST_WEBHOOKS({ ...filter, after, count });
}

const COUNT_WEBHOOKS = statement(
  'count_webhooks',
  { programId: nullable(UUID) },
  'select count(*) as count from webhook where program_id is not distinct from :programId::uuid',
);

/** Counts a program's webhooks or, without a program, the webhooks of operators. */
export function countWebhooks(programId: string | null): Statement {
  return COUNT_WEBHOOKS({ programId });
}

/**
 * Returns the shard of a webhook, which decides the process that delivers to it. It is the last hexadecimal digit of the webhook's
 * id, which is random.
 */
export function shardOf(webhookId: string): number {
  return Number.parseInt(webhookId.slice(-1), 16);
}

/** Inserts a webhook. Its state and a secret must follow. */
export const insertWebhook = insertRow('insert_webhook', 'webhook', WEBHOOK);

const LOCK_WEBHOOK = statement(
  'lock_webhook',
  { webhookId: UUID, programId: nullable(UUID) },
  `select from webhook join webhook_state using (webhook_id)
    where webhook.webhook_id = :webhookId and (:programId::uuid is null or webhook.program_id = :programId)
    for no key update`,
);

/** Locks a webhook and its state against other changes. A later statement must read its values. */
export function lockWebhook(webhookId: string, programId: string | null): Statement {
  return LOCK_WEBHOOK({ webhookId, programId });
}

/**
 * Updates the fields that callers set. The webhook must be locked. The process that delivers to the webhook then reads it again.
 */
export const updateWebhook: (webhook: Webhook) => Statement = statement(
  'update_webhook',
  WEBHOOK.omit('programId', 'version', 'createdAt').columns,
  `update webhook set url = :url, description = :description, types = :types, payload = :payload,
      delivery_order = :deliveryOrder, concurrency = :concurrency, rate = :rate, header_names = :headerNames,
      headers = :headers, updated_at = :updatedAt, revision = revision + 1
    where webhook_id = :webhookId`,
);

const DELETE_WEBHOOK = statement(
  'delete_webhook',
  { webhookId: UUID },
  'delete from webhook where webhook_id = :webhookId',
);

/** Deletes a webhook with its secrets, deliveries and replays. Its attempts are kept until they are old enough to be deleted. */
export function deleteWebhook(webhookId: string): Statement {
  return DELETE_WEBHOOK({ webhookId });
}

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
