import type pg from 'pg';

/** How long blocking locks were held and waited for, in milliseconds. */
export type LockTimes = {
  /** The longest time that a transaction held such a lock, and the table. */
  readonly held: { readonly table: string; readonly milliseconds: number };
  /** The longest time that a transaction waited for such a lock. Transactions that queue behind it wait as long. */
  readonly waited: { readonly table: string; readonly milliseconds: number };
};

/** The time between two checks, in milliseconds. The results can be off by this much. */
const INTERVAL = 5;

/**
 * Finds locks of migrations' statements that conflict with a transfer's locks, on tables and indexes that already
 * existed. Locks on new tables and indexes delay no transfer.
 */
const LOCKS = `select pg_locks.virtualtransaction as transaction, relname as table, granted
  from pg_locks join pg_class on pg_class.oid = relation
  where locktype = 'relation' and relation = any ($1)
    and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`;

type Row = { readonly transaction: string; readonly table: string; readonly granted: boolean };

/** Watches the locks on a separate connection until it is stopped. Returns the longest times. */
export async function watchLocks(client: pg.Client): Promise<() => Promise<LockTimes>> {
  const { rows } = await client.query<{ oid: string }>(
    "select oid from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'i', 'I')",
  );
  const before = rows.map(({ oid }) => oid);
  const longest = { held: { table: 'none', milliseconds: 0 }, waited: { table: 'none', milliseconds: 0 } };
  const since = new Map<string, number>();
  let isOver = false;
  const watching = watch().catch((error: unknown) => error);
  return async () => {
    isOver = true;
    const failure = await watching;
    if (failure !== undefined) throw failure;
    return longest;
  };

  async function watch(): Promise<void> {
    let lookedAt = performance.now();
    while (!isOver) {
      const found = await client.query<Row>({ name: 'look', text: LOCKS, values: [before] });
      const now = performance.now();
      const seen = new Set<string>();
      for (const { transaction, table, granted } of found.rows) {
        const name = `${transaction} ${table} ${granted}`;
        seen.add(name);
        // The lock may have been taken just after the last check.
        if (!since.has(name)) since.set(name, lookedAt);
        const milliseconds = now - (since.get(name) ?? now);
        const kind = granted ? 'held' : 'waited';
        if (milliseconds > longest[kind].milliseconds) longest[kind] = { table, milliseconds };
      }
      for (const name of since.keys()) if (!seen.has(name)) since.delete(name);
      lookedAt = now;
      await new Promise((wake) => setTimeout(wake, INTERVAL));
    }
  }
}
