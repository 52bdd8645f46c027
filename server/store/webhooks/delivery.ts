import type { WebhookStatus } from '../../../domain/webhooks/webhook.ts';
import type { Database, Row } from '../connection/database.ts';
import {
  columns,
  INTEGER,
  JSON_TEXT,
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

const DELIVERY = columns({
  webhookId: UUID,
  kind: word<'event' | 'resend' | 'test'>(),
  eventId: UUID,
  position: nullable(NUMBER),
  body: nullable(TEXT),
  tries: SMALLINT,
  nextAt: nullable(TIME),
});

/** An event that is sent outside the order of the cursor. */
export type StoredDelivery = ReturnType<typeof DELIVERY.read>;

export const toDeliveries = (found: readonly Row[]): readonly StoredDelivery[] => found.map(DELIVERY.read);

/** Reads the next retries of each given webhook, even if they are not due. */
export const readRetries = statement(
  'read_webhook_retries',
  { webhookIds: many(UUID), count: INTEGER },
  `select retry.* from unnest(:webhookIds) as wanted (webhook_id) cross join lateral (
      select ${DELIVERY.names} from webhook_delivery
      where webhook_delivery.webhook_id = wanted.webhook_id and state = 'waiting' and kind = 'event'
      order by next_at limit :count
    ) as retry`,
);

/** Reads tests and requested resends, except for the webhooks in `except`. */
export const readRequestedDeliveries = statement(
  'read_asked_webhook_deliveries',
  { shards: many(SMALLINT), except: many(UUID), count: INTEGER },
  `select ${DELIVERY.names} from webhook_delivery
    where shard = any (:shards) and kind <> 'event' and next_at <= clock_timestamp() and webhook_id <> all (:except)
    order by next_at limit :count`,
);

/** Reads a webhook's oldest failed event that will be sent again. */
export const readOldestRetry = statement(
  'read_oldest_webhook_retry',
  { webhookId: UUID },
  `select ${DELIVERY.names} from webhook_delivery
    where webhook_id = :webhookId and kind = 'event' and state = 'waiting'
    order by position limit 1`,
);

export const readDeadDeliveries = statement(
  'read_dead_webhook_deliveries',
  { webhookId: UUID, after: NUMBER, until: NUMBER, count: INTEGER },
  `select ${DELIVERY.names} from webhook_delivery
    where webhook_id = :webhookId and kind = 'event' and state = 'dead' and position > :after and position <= :until
    order by position limit :count`,
);

/** More than the maximum number of webhooks of a card program. */
const MAX_WEBHOOKS = 100;

const HELD_EVENT = columns({ eventId: UUID, eventType: TEXT, position: NUMBER });

const WAIT = columns({
  webhookId: UUID,
  eventId: UUID,
  status: word<WebhookStatus>(),
  failingSince: nullable(TIME),
  nextProbeAt: nullable(TIME),
});

export type Wait = ReturnType<typeof WAIT.read>;

/** Reads which paused or disabled webhooks of a program still have to get some of its events, oldest first. */
export const readWaitsOfEvents = statement(
  'read_webhook_waits_of_events',
  { sent: rows(HELD_EVENT), programId: UUID, count: INTEGER },
  // Looks up each row by its key, because a page that is rarely opened must not read a whole table.
  `select ${WAIT.names} from (
      select webhook_id, types from webhook where program_id = :programId order by webhook_id limit ${MAX_WEBHOOKS}
    ) as own cross join lateral (
      select cursor, ahead, status, failing_since, next_probe_at from webhook_state
      where webhook_state.webhook_id = own.webhook_id limit 1
    ) as state cross join :sent left join lateral (
      select state as delivery_state from webhook_delivery
      where webhook_delivery.webhook_id = own.webhook_id and kind = 'event' and webhook_delivery.event_id = sent.event_id
      limit 1
    ) as delivery on true
    where status <> 'enabled' and (types is null or array[event_type, split_part(event_type, '.', 1) || '.*'] && types)
      and (position > cursor and not ahead @> position or delivery_state = 'waiting')
    order by position, webhook_id limit :count`,
);

export const toWait: (row: Row) => Wait = WAIT.read;

const FAILED = columns({
  webhookId: UUID,
  shard: SMALLINT,
  epoch: NUMBER,
  programId: nullable(UUID),
  eventId: UUID,
  position: NUMBER,
  tries: SMALLINT,
  nextAt: nullable(TIME),
});

/** An event that failed. It is sent again at `nextAt`. If that is null, the event is dead. */
export type FailedDelivery = ReturnType<typeof FAILED.read>;

/** Stores that events failed, and replaces their earlier state. */
export const storeFailedDeliveries = statement(
  'store_failed_webhook_deliveries',
  { sent: rows(FAILED), owner: UUID },
  `insert into webhook_delivery
      (webhook_id, kind, event_id, program_id, shard, position, tries, state, created_at, next_at)
    select sent.webhook_id, 'event', sent.event_id, sent.program_id, sent.shard, sent.position, sent.tries,
      case when sent.next_at is null then 'dead' else 'waiting' end, clock_timestamp(), sent.next_at
    from :sent join ${HELD} join webhook on webhook.webhook_id = sent.webhook_id
    on conflict (webhook_id, kind, event_id) do update
      set tries = excluded.tries, state = excluded.state, next_at = excluded.next_at`,
);

const FINISHED = columns({
  webhookId: UUID,
  shard: SMALLINT,
  epoch: NUMBER,
  kind: word<StoredDelivery['kind']>(),
  eventId: UUID,
  dueAt: nullable(TIME),
});

/** A delivery that has ended. If it has `dueAt` and was requested again since then, it stays. */
export type FinishedDelivery = ReturnType<typeof FINISHED.read>;

export const deleteDeliveries = statement(
  'delete_webhook_deliveries',
  { sent: rows(FINISHED), owner: UUID },
  `with ended as materialized (
      select sent.*, sent.due_at + interval '1 millisecond' as due_before from :sent join ${HELD}
    )
    delete from webhook_delivery as stored using ended
    where stored.webhook_id = ended.webhook_id and stored.kind = ended.kind and stored.event_id = ended.event_id
      and (ended.due_before is null or stored.next_at < ended.due_before)`,
);

/**
 * Deletes deliveries that can no longer be sent: dead events, and replays that ended so long ago that all of their events are
 * deleted. `days` is how long events are stored.
 */
export async function deleteOldDeliveries(database: Database, days: number): Promise<void> {
  await database.alone(async (client) => {
    const oldest = 'statement_timestamp() - make_interval(days => $1::integer)';
    await client.query(`delete from webhook_delivery where state = 'dead' and created_at < ${oldest}`, [days]);
    await client.query(`delete from webhook_replay where finished_at < ${oldest}`, [days]);
  });
}

/**
 * Stores a request to send an event to a webhook immediately, outside the order of its cursor. If a resend is still waiting, it
 * starts again. `body` is an event that is not stored, as JSON text.
 */
export const requestDelivery = statement(
  'request_webhook_delivery',
  {
    webhookId: UUID,
    kind: word<'resend' | 'test'>(),
    eventId: UUID,
    programId: nullable(UUID),
    shard: SMALLINT,
    position: nullable(NUMBER),
    body: nullable(JSON_TEXT),
    createdAt: TIME,
  },
  // Attempts become due in real time, even in a sandbox whose clock is ahead.
  `insert into webhook_delivery
      (webhook_id, kind, event_id, program_id, shard, position, body, state, created_at, next_at)
    values (:webhookId, :kind, :eventId, :programId, :shard, :position, :body, 'waiting', :createdAt, clock_timestamp())
    on conflict (webhook_id, kind, event_id) do update set tries = 0, state = 'waiting', next_at = excluded.next_at`,
);
