import { type Meanings, NOTHING, timeOf } from './meaning.ts';
import { columnsOf, type StoredRow } from './parameters.ts';
import type { Run, Transaction } from './transaction.ts';

const shardKey = (shard: unknown): string => String(shard);
const shown = ({ shard, epoch }: StoredRow): StoredRow => ({ shard, epoch });

/** Whether a process holds the shard of a row in the statement's snapshot. */
function isHeld(transaction: Transaction, { shard, epoch }: StoredRow, owner: unknown): boolean {
  const held = transaction.find('webhook_shard', shardKey(shard));
  return held?.owner === owner && held?.epoch === epoch;
}

function* change(
  transaction: Transaction,
  shards: readonly StoredRow[],
  to: (row: StoredRow) => StoredRow | undefined,
): Run<readonly StoredRow[]> {
  const changed: StoredRow[] = [];
  for (const { shard } of shards.toSorted((one, other) => Number(one.shard) - Number(other.shard))) {
    if (!(yield* transaction.update('webhook_shard', shardKey(shard), to))) continue;
    const row = transaction.newest('webhook_shard', shardKey(shard));
    if (row !== undefined) changed.push(shown(row));
  }
  return changed;
}

/** Webhooks, the leases of their shards, and their cursors. */
export const WEBHOOK_STATEMENTS: Meanings = {
  *note_webhook_worker(transaction, { values: [owner] }) {
    const key = String(owner);
    const row = { owner, seen_at: new Date(transaction.clock()) };
    if (transaction.find('webhook_worker', key) === undefined) yield* transaction.insert('webhook_worker', key, row);
    else yield* transaction.update('webhook_worker', key, () => row);
    return NOTHING;
  },

  *renew_webhook_shards(transaction, { values: [seconds, owner] }) {
    const expires_at = new Date(transaction.clock() + Number(seconds) * 1000);
    const own = transaction.scan('webhook_shard', (row) => row.owner === owner);
    return yield* change(transaction, own, (row) => (row.owner === owner ? { ...row, expires_at } : undefined));
  },

  read_webhook_workers(transaction) {
    const now = transaction.clock();
    const seen = transaction.scan('webhook_worker', (row) => (row.seen_at as Date).getTime() > now - 10_000);
    return [{ now: new Date(now), workers: seen.length }];
  },

  *claim_webhook_shards(transaction, { values: [owner, seconds, count] }) {
    const now = transaction.clock();
    const isFree = (row: StoredRow): boolean => row.owner === null || (row.expires_at as Date).getTime() < now;
    const free = transaction
      .scan('webhook_shard', isFree)
      .toSorted((one, other) => Number(one.shard) - Number(other.shard))
      .filter(({ shard }) => transaction.tryLock(`webhook_shard ${shardKey(shard)}`))
      .slice(0, Number(count));
    const expires_at = new Date(now + Number(seconds) * 1000);
    const take = (row: StoredRow): StoredRow | undefined =>
      isFree(row) ? { ...row, owner, epoch: (row.epoch as bigint) + 1n, expires_at } : undefined;
    return yield* change(transaction, free, take);
  },

  *lock_webhook_shards(transaction, { values: [owner, shards] }) {
    const wanted = transaction
      .scan('webhook_shard', (row) => row.owner === owner && (shards as number[]).includes(row.shard as number))
      .toSorted((one, other) => Number(one.shard) - Number(other.shard));
    const keys = wanted.map(({ shard }) => shardKey(shard));
    const locked = yield* transaction.lockRows('webhook_shard', keys, 'share');
    return locked.filter((row) => row.owner === owner).map(shown);
  },

  *move_webhook_cursors(transaction, { rows, values: [owner] }) {
    const moved: StoredRow[] = [];
    for (const sent of rows('sent')) {
      if (!isHeld(transaction, sent, owner)) continue;
      const { webhook_id, shard, epoch, cursor, ahead } = sent;
      const isMoved = yield* transaction.update('webhook_state', String(webhook_id), (row) =>
        row.shard === shard
          ? {
              ...row,
              cursor: maximum(row.cursor, cursor),
              ahead,
              last_success_at: latest(row.last_success_at, sent.last_success_at),
              last_failure_at: latest(row.last_failure_at, sent.last_failure_at),
              ...{ written_by: owner, written_epoch: epoch },
            }
          : undefined,
      );
      if (isMoved) moved.push({ webhook_id });
    }
    return moved;
  },

  read_webhook_revisions(transaction, { values: [shards] }) {
    return transaction
      .scan('webhook_state', (row) => (shards as number[]).includes(row.shard as number))
      .map(({ webhook_id, shard }) => {
        const { revision } = transaction.find('webhook', String(webhook_id)) ?? {};
        return { webhook_id, revision, shard };
      });
  },

  read_delivered_webhooks(transaction, { values: [webhookIds] }) {
    return (webhookIds as string[]).flatMap((id) => {
      const webhook = transaction.find('webhook', id);
      const state = transaction.find('webhook_state', id);
      if (webhook === undefined || state === undefined) return [];
      return [{ ...columnsOf({ ...webhook, ...state }, DELIVERED), next_retry_at: null }];
    });
  },

  *lock_webhook_revisions(transaction, { values: [webhookIds] }) {
    const locked = yield* transaction.lockRows('webhook', (webhookIds as string[]).toSorted(), 'share');
    return locked.map(({ webhook_id }) => ({ webhook_id }));
  },

  *store_webhook_health(transaction, { rows, values: [owner] }) {
    const stored: StoredRow[] = [];
    for (const sent of rows('sent')) {
      const { webhook_id, shard, epoch, revision, ...health } = sent;
      const key = String(webhook_id);
      if (!isHeld(transaction, sent, owner) || transaction.find('webhook', key)?.revision !== revision) continue;
      const isStored = yield* transaction.update('webhook_state', key, (row) => {
        if (row.shard !== shard) return undefined;
        const isTold = row.is_failing_told === true && health.is_failing_told === true;
        return { ...row, ...health, is_failing_told: isTold, written_by: owner, written_epoch: epoch };
      });
      if (isStored) stored.push({ webhook_id });
    }
    return stored;
  },

  read_webhook(transaction, { values: [webhookId, programId] }) {
    const webhook = transaction.find('webhook', String(webhookId));
    const state = transaction.find('webhook_state', String(webhookId));
    if (webhook === undefined || state === undefined || !isOf(webhook, programId)) return NOTHING;
    const head = (transaction.find('event_head', String(webhook.program_id))?.position ?? 0n) as bigint;
    const cursor = state.cursor as bigint;
    const secrets = transaction
      .scan('webhook_secret', (row) => row.webhook_id === webhookId)
      .map(({ secret_id, created_at }) => ({
        secretId: secret_id,
        createdAt: (created_at as Date).getTime(),
        expiresAt: null,
      }));
    return [
      {
        ...columnsOf({ ...webhook, ...state }, DETAILS),
        backlog: head > cursor ? head - cursor : 0n,
        // Failed events and replays are not simulated.
        ...{ next_retry_at: null, retries: 0n, dead: 0n, replay: null },
        secrets,
      },
    ];
  },

  *lock_webhook(transaction, { values: [webhookId, programId] }) {
    const key = String(webhookId);
    const found = transaction.find('webhook', key);
    if (found === undefined || !isOf(found, programId)) return NOTHING;
    const webhook = yield* transaction.lockRow('webhook', key);
    const state = yield* transaction.lockRow('webhook_state', key);
    return webhook === undefined || state === undefined ? NOTHING : [{}];
  },

  count_webhooks(transaction, { values: [programId] }) {
    return [{ count: BigInt(transaction.scan('webhook', (row) => row.program_id === programId).length) }];
  },

  *insert_webhook(transaction, { values }) {
    const row = Object.fromEntries(WEBHOOK.map((name, index) => [name, values[index]]));
    yield* transaction.insert('webhook', String(row.webhook_id), { ...row, revision: 1n });
    return NOTHING;
  },

  *insert_webhook_state(transaction, { values: [webhook_id, program_id, shard, cursor] }) {
    yield* transaction.insert('webhook_state', String(webhook_id), {
      ...{ webhook_id, program_id, shard, cursor: BigInt(Number(cursor)), ahead: '{}' },
      ...{ last_failure_at: null, last_success_at: null, ...ENABLED },
    });
    return NOTHING;
  },

  *insert_webhook_secret(transaction, { values }) {
    const [secret_id, webhook_id, program_id, sealed, created_at, expires_at] = values;
    const row = { secret_id, webhook_id, program_id, sealed, created_at, expires_at };
    yield* transaction.insert('webhook_secret', String(secret_id), row);
    return NOTHING;
  },

  *update_webhook(transaction, { values }) {
    const written = Object.fromEntries(UPDATED.map((name, index) => [name, values[index]]));
    yield* transaction.update('webhook', String(values[UPDATED.length]), (row) => ({
      ...row,
      ...written,
      revision: (row.revision as bigint) + 1n,
    }));
    return NOTHING;
  },

  *enable_webhook(transaction, { values: [cursor, webhookId] }) {
    yield* transaction.update('webhook_state', String(webhookId), (row) => ({
      ...row,
      ...ENABLED,
      cursor: cursor === null ? row.cursor : maximum(row.cursor, BigInt(Number(cursor))),
    }));
    return NOTHING;
  },

  *disable_webhook(transaction, { values: [status_reason, webhookId] }) {
    const disabled = { status: 'disabled', status_reason, next_probe_at: null };
    yield* transaction.update('webhook_state', String(webhookId), (row) => ({ ...row, ...disabled }));
    return NOTHING;
  },

  *probe_webhook_now(transaction, { values: [now, webhookId] }) {
    yield* transaction.update('webhook_state', String(webhookId), (row) => ({ ...row, next_probe_at: now }));
    return NOTHING;
  },

  // Failed events and replays are not simulated.
  cancel_webhook_replay: () => NOTHING,
  give_up_webhook_retries: () => NOTHING,

  *delete_webhook(transaction, { values: [webhookId] }) {
    const key = String(webhookId);
    yield* transaction.remove('webhook', key);
    for (const { secret_id } of transaction.scan('webhook_secret', (row) => row.webhook_id === webhookId)) {
      yield* transaction.remove('webhook_secret', String(secret_id));
    }
    yield* transaction.remove('webhook_state', key);
    return NOTHING;
  },
};

/** The columns of `insert into webhook`, in their order. */
const WEBHOOK = [
  ...(['webhook_id', 'program_id', 'url', 'description', 'types', 'payload', 'delivery_order', 'concurrency'] as const),
  ...(['rate', 'header_names', 'headers', 'version', 'created_at', 'updated_at'] as const),
];

/** The columns that a change of a webhook writes, in the order of its statement. */
const UPDATED = [
  ...(['url', 'description', 'types', 'payload', 'delivery_order', 'concurrency', 'rate'] as const),
  ...(['header_names', 'headers', 'updated_at'] as const),
];

const DETAILS = [
  ...WEBHOOK,
  ...(['status', 'status_reason', 'cursor', 'failures', 'failing_since', 'last_success_at'] as const),
  ...(['last_failure_at', 'next_probe_at'] as const),
];

const DELIVERED = [
  ...(['webhook_id', 'program_id', 'url', 'types', 'payload', 'delivery_order', 'concurrency', 'rate'] as const),
  ...(['headers', 'revision', 'shard', 'cursor', 'ahead', 'status', 'failures', 'failing_since'] as const),
  ...(['last_failure_at', 'last_success_at', 'probe_tries', 'next_probe_at', 'is_failing_told'] as const),
];

/** The state of a new or re-enabled webhook. */
const ENABLED = {
  ...{ status: 'enabled', status_reason: null, failures: 0, failing_since: null, probe_tries: 0 },
  ...{ next_probe_at: null, is_failing_told: false },
};

const isOf = (webhook: StoredRow, programId: unknown): boolean =>
  programId === null || webhook.program_id === programId;

function latest(one: unknown, other: unknown): unknown {
  if (one === null || other === null) return one ?? other;
  return timeOf(one) > timeOf(other) ? one : other;
}

function maximum(one: unknown, other: unknown): unknown {
  return (one as bigint) > (other as bigint) ? one : other;
}
