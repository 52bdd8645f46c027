import { administer, type ConnectionSettings } from './connections.ts';

/** What bounds the connections of the user of a database, and how many are open, our own not counted. */
type Bound = { readonly most: number | null; readonly used: number };
type Room = { readonly user: string; readonly database: string } & Readonly<
  Record<'role' | 'ofDatabase' | 'server', Bound>
>;

/** A bound as an operator knows it, and how to raise it. */
export type ConnectionBound = {
  readonly whose: string;
  readonly raise: string;
  readonly most: number;
  /** How many are free now. */
  readonly free: number;
};

/**
 * Superusers are above the bounds of roles and databases and may use the reserved connections; `reserved_connections` is
 * new in PostgreSQL 16.
 */
const READ_ROOM = `with used as (
    select count(*)::integer as server, count(*) filter (where usename = session_user)::integer as role,
      count(*) filter (where datname = current_database())::integer as database
    from pg_stat_activity where datid is not null and usesysid is not null and pid <> pg_backend_pid())
  select session_user::text as "user", current_database()::text as database,
    json_build_object('used', used.role,
      'most', case when not rolsuper and rolconnlimit >= 0 then rolconnlimit end) as role,
    json_build_object('used', used.database,
      'most', case when not rolsuper and datconnlimit >= 0 then datconnlimit end) as "ofDatabase",
    json_build_object('used', used.server, 'most', current_setting('max_connections')::integer
      - case when rolsuper then 0 else current_setting('superuser_reserved_connections')::integer
        + coalesce(current_setting('reserved_connections', true), '0')::integer end) as server
  from used, pg_roles, pg_database where rolname = session_user and datname = current_database()`;

/** What the role, the database and the server allow: the bound that allows least, and the one with the least left. */
export async function readConnectionBounds(
  settings: ConnectionSettings,
): Promise<{ readonly lowest: ConnectionBound; readonly tightest: ConnectionBound }> {
  const { rows } = await administer(settings, (client) => client.query<Room>(READ_ROOM));
  const [room] = rows;
  if (room === undefined) throw new Error('the database does not know its own user');
  const server = toBound('the server', 'max_connections in postgresql.conf', room.server);
  const role = `ALTER ROLE ${quoted(room.user)} CONNECTION LIMIT`;
  const database = `ALTER DATABASE ${quoted(room.database)} CONNECTION LIMIT`;
  const bounds = [
    server,
    toBound(`the role ${room.user}`, role, room.role),
    toBound(`the database ${room.database}`, database, room.ofDatabase),
  ];
  return {
    lowest: bounds.reduce((least, bound) => (bound.most < least.most ? bound : least), server),
    tightest: bounds.reduce((least, bound) => (bound.free < least.free ? bound : least), server),
  };
}

function toBound(whose: string, raise: string, { most, used }: Bound): ConnectionBound {
  const atMost = most ?? Number.POSITIVE_INFINITY;
  return { whose, raise, most: atMost, free: Math.max(0, atMost - used) };
}

function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
