import type pg from 'pg';

/** How long locks were held, or waited for, that make others wait; in milliseconds. */
export type LockTimes = {
  /** The longest time for which one transaction held such a lock, by the table that it held longest. */
  readonly held: { readonly table: string; readonly milliseconds: number };
  /** The longest time for which one waited: whoever comes after it waits as long. */
  readonly waited: { readonly table: string; readonly milliseconds: number };
};

/** Time between two looks, in milliseconds: the error of what is found. */
const INTERVAL = 5;

/**
 * Locks of the statements of migrations that conflict with those of a transfer, on tables and indexes that were there
 * before. Locks on what the same transaction has made hold up nobody.
 */
const LOCKS = `select pg_locks.virtualtransaction as transaction, relname as table, granted
  from pg_locks join pg_class on pg_class.oid = relation
  where locktype = 'relation' and relation = any ($1)
    and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`;

type Row = { readonly transaction: string; readonly table: string; readonly granted: boolean };

/** Looks at the locks on a connection of its own until it is stopped, and gives the longest. */
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
        // It may have been taken just after the last look.
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
