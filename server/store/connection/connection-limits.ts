import { administer, type ConnectionSettings } from './connections.ts';

/** A maximum of connections, or null for none, and how many are open, except the reading connection. */
type Usage = { readonly max: number | null; readonly used: number };
type UsageRow = { readonly user: string; readonly database: string } & Readonly<
  Record<'role' | 'ofDatabase' | 'server', Usage>
>;

/** A maximum number of connections of the server, a role or a database, and how to raise it. */
export type ConnectionLimit = {
  readonly whose: string;
  readonly raise: string;
  readonly max: number;
  readonly free: number;
};

/**
 * Superusers are exempt from the limits of roles and databases and may use the reserved connections. `reserved_connections` is
 * new in PostgreSQL 16.
 */
const READ_USAGE = `with used as (
    select count(*)::integer as server, count(*) filter (where usename = session_user)::integer as role,
      count(*) filter (where datname = current_database())::integer as database
    from pg_stat_activity where datid is not null and usesysid is not null and pid <> pg_backend_pid())
  select session_user::text as "user", current_database()::text as database,
    json_build_object('used', used.role,
      'max', case when not rolsuper and rolconnlimit >= 0 then rolconnlimit end) as role,
    json_build_object('used', used.database,
      'max', case when not rolsuper and datconnlimit >= 0 then datconnlimit end) as "ofDatabase",
    json_build_object('used', used.server, 'max', current_setting('max_connections')::integer
      - case when rolsuper then 0 else current_setting('superuser_reserved_connections')::integer
        + coalesce(current_setting('reserved_connections', true), '0')::integer end) as server
  from used, pg_roles, pg_database where rolname = session_user and datname = current_database()`;

/**
 * The connection limits of the role, the database and the server: the lowest limit, and the one with the fewest free connections.
 */
export async function readConnectionLimits(
  settings: ConnectionSettings,
): Promise<{ readonly lowest: ConnectionLimit; readonly tightest: ConnectionLimit }> {
  const { rows } = await administer(settings, (client) => client.query<UsageRow>(READ_USAGE));
  const [usage] = rows;
  if (usage === undefined) throw new Error('the database does not know its own user');
  const server = toLimit('the server', 'max_connections in postgresql.conf', usage.server);
  const role = `ALTER ROLE ${quoted(usage.user)} CONNECTION LIMIT`;
  const database = `ALTER DATABASE ${quoted(usage.database)} CONNECTION LIMIT`;
  const limits = [
    server,
    toLimit(`the role ${usage.user}`, role, usage.role),
    toLimit(`the database ${usage.database}`, database, usage.ofDatabase),
  ];
  return {
    lowest: limits.reduce((lowest, limit) => (limit.max < lowest.max ? limit : lowest), server),
    tightest: limits.reduce((lowest, limit) => (limit.free < lowest.free ? limit : lowest), server),
  };
}

function toLimit(whose: string, raise: string, { max, used }: Usage): ConnectionLimit {
  const limit = max ?? Number.POSITIVE_INFINITY;
  return { whose, raise, max: limit, free: Math.max(0, limit - used) };
}

function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
