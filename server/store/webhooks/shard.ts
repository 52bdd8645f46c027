import type { Row, Statement } from '../connection/database.ts';
import { columns, INTEGER, many, NUMBER, SMALLINT, statement, TIME, UUID } from '../sql.ts';

// Invariant: A process that has lost a lease changes no cursor
// Kept by: every write compares owner and epoch under the lock of the shard
// Tested by: `test/store/webhooks/leases.test.ts`, `test/delivery/processes.test.ts`

/** The number of parts into which the webhooks are divided. It is also the maximum number of processes that deliver at once. */
export const SHARDS = 16;

/** How long a process holds a shard if it does not renew its lease. */
export const LEASE_SECONDS = 10;

const SHARD = columns({ shard: SMALLINT, epoch: NUMBER });

/** A shard that this process holds. Each change of owner raises the epoch. */
export type HeldShard = ReturnType<typeof SHARD.read>;

/** Returns the shards in a fixed order, so that the same ones are released each time. */
export const toHeldShards = (found: readonly Row[]): readonly HeldShard[] =>
  found.map(SHARD.read).toSorted((left, right) => left.shard - right.shard);

/** Records that a process delivers, and removes processes that ended without deleting their own record. */
export const noteWorker = statement(
  'note_webhook_worker',
  { owner: UUID },
  `with ended as (
      delete from webhook_worker
      where seen_at not between statement_timestamp() - interval '1 hour' and statement_timestamp() + interval '1 hour'
    )
    insert into webhook_worker (owner, seen_at) values (:owner, statement_timestamp())
    on conflict (owner) do update set seen_at = excluded.seen_at`,
);

/** SQL: the shards of `owner`, locked in the same order as in {@link lockShards}. In different orders, the two could deadlock. */
const OWN_SHARDS = 'select shard from webhook_shard where owner = :owner order by shard for no key update';

/** Renews the leases of a process. This includes shards whose lease has expired, if no other process has taken them. */
export const renewShards = statement(
  'renew_webhook_shards',
  { owner: UUID, seconds: INTEGER },
  `update webhook_shard set expires_at = statement_timestamp() + make_interval(secs => :seconds)
    where owner = :owner and shard = any (array(${OWN_SHARDS})) returning ${SHARD.names}`,
);

/**
 * SQL: whether a lease has ended. A lease that ends later than its length from now is from before the database's clock was set
 * back. Twice the length is allowed, so that a small correction of the clock does not end a lease in use.
 */
const HAS_ENDED = `(owner is null
      or expires_at not between statement_timestamp() and statement_timestamp() + 2 * make_interval(secs => :seconds))`;

/** Takes up to `count` shards that no process holds. */
export const claimShards = statement(
  'claim_webhook_shards',
  { owner: UUID, seconds: INTEGER, count: INTEGER },
  `update webhook_shard set owner = :owner, epoch = epoch + 1,
      expires_at = statement_timestamp() + make_interval(secs => :seconds)
    where shard = any (array(
      select shard from webhook_shard where ${HAS_ENDED}
      order by shard limit :count for update skip locked
    )) and ${HAS_ENDED}
    returning ${SHARD.names}`,
);

/** Releases shards, so that other processes can take them immediately. */
export const releaseShards = statement(
  'release_webhook_shards',
  { owner: UUID, shards: many(SMALLINT) },
  `update webhook_shard set owner = null, expires_at = null
    where owner = :owner and shard = any (:shards) and shard = any (array(${OWN_SHARDS}))`,
);

export const removeWorker = statement(
  'remove_webhook_worker',
  { owner: UUID },
  'delete from webhook_worker where owner = :owner',
);

/**
 * Locks shards against a change of owner until the end of the transaction. Later statements compare owner and epoch, and their
 * snapshots cannot be out of date for these rows.
 */
export const lockShards = statement(
  'lock_webhook_shards',
  { owner: UUID, shards: many(SMALLINT) },
  `select ${SHARD.names} from webhook_shard where owner = :owner and shard = any (:shards) order by shard for share`,
);

/** SQL: the shards that the process still holds, among rows `sent` with `shard` and `epoch`. Needs the parameter `owner`. */
export const HELD = `webhook_shard on webhook_shard.shard = sent.shard and webhook_shard.epoch = sent.epoch
      and webhook_shard.owner = :owner`;

const WORKERS = columns({ now: TIME, workers: INTEGER });

/**
 * Reads the database's clock, and how many processes deliver. Excludes processes whose last record has a time in the future. Such a
 * record is from before the clock was set back, and the process has recorded nothing since then.
 */
export const READ_WORKERS: Statement = {
  name: 'read_webhook_workers',
  text: `select statement_timestamp() as now,
    (select count(*)::integer from webhook_worker
      where seen_at between statement_timestamp() - make_interval(secs => ${LEASE_SECONDS})
        and statement_timestamp() + make_interval(secs => ${LEASE_SECONDS})) as workers`,
  values: [],
};

export function toWorkers([row]: readonly Row[]): ReturnType<typeof WORKERS.read> {
  if (row === undefined) throw new Error('the database returned no time');
  return WORKERS.read(row);
}

export const READ_WHETHER_WEBHOOKS_EXIST: Statement = {
  name: 'read_whether_webhooks_exist',
  text: 'select exists (select from webhook) as exist',
  values: [],
};
