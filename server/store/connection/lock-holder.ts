import type pg from 'pg';

/** The sessions of this process that wait for locks without a time limit, as process ids of their backends. */
const waiting = new Set<number>();

/** Registers a connection without time limits until it ends. */
export function noteWaiting(client: pg.ClientBase): void {
  // `pg` knows the id from the server's greeting, but its types do not include it.
  const processId: unknown = Reflect.get(client, 'processID');
  if (typeof processId !== 'number') return;
  waiting.add(processId);
  client.once('end', () => waiting.delete(processId));
}

/** Returns whether {@link readLockHolder} could find anything. */
export function mayWaitForLock(): boolean {
  return waiting.size > 0;
}

type Holder = { readonly process: number; readonly program: string | null; readonly user: string | null };

/** Describes, in a few words, the session that holds a lock for which this process waits. Undefined if there is none. */
export async function readLockHolder(client: pg.ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<Holder>(
    `select pid as process, nullif(application_name, '') as program, usename::text as "user"
      from pg_catalog.pg_stat_activity
      where pid <> all ($1) and pid in (
        select unnest(pg_catalog.pg_blocking_pids(own)) from unnest($1::integer[]) as own)
      order by xact_start limit 1`,
    [[...waiting]],
  );
  return rows[0] && `${describeSession(rows[0])} holds a lock`;
}

/** Describes the session that holds an advisory lock, in a few words. Undefined if there is none. */
export async function readAdvisoryHolder(client: pg.ClientBase, key: number): Promise<string | undefined> {
  const { rows } = await client.query<Holder>(
    `select pid as process, nullif(application_name, '') as program, usename::text as "user"
      from pg_catalog.pg_locks join pg_catalog.pg_stat_activity using (pid)
      where locktype = 'advisory' and granted and objsubid = 1 and classid = 0 and objid = $1::oid
        and pg_locks.database = (select oid from pg_catalog.pg_database where datname = current_database())`,
    [key],
  );
  return rows[0] && describeSession(rows[0]);
}

/**
 * Describes the session with the longest open transaction that used tables of this session's schema, in a few words. Undefined if
 * there is none.
 */
export async function readTableUser(client: pg.ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<Holder & { readonly table: string; readonly seconds: number }>(
    `select pid as process, nullif(application_name, '') as program, usename::text as "user",
        relname::text as table, extract(epoch from clock_timestamp() - xact_start)::int4 as seconds
      from pg_catalog.pg_locks join pg_catalog.pg_stat_activity using (pid) join pg_catalog.pg_class on pg_class.oid = relation
      where granted and relnamespace = current_schema()::regnamespace and pid <> pg_backend_pid()
        and pg_locks.database = (select oid from pg_catalog.pg_database where datname = current_database())
      order by xact_start nulls last, relkind = 'r' desc, relname limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return undefined;
  const since = found.seconds === null ? '' : ` for ${found.seconds} s`;
  return `${describeSession(found)} uses the table ${found.table}${since}`;
}

/** Describes a session. Only a superuser can see the application name of another user's session. */
export function describeSession({ process, program, user }: Holder): string {
  const who = [program, user && `user ${user}`].filter((part) => part !== null).join(', ');
  return `PostgreSQL process ${process}${who === '' ? '' : ` (${who})`}`;
}
