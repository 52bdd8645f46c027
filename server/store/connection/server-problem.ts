import type pg from 'pg';
import { administer, type ConnectionSettings } from './connections.ts';
import { hasTables, IS_PLACEMENT_IN } from './placement.ts';
import { DEFAULT_SCHEMA } from './session-settings.ts';

// Finds settings of the server, or of a pooler in front of it, that the service cannot override on its connections. Each function
// returns a sentence that says what to change, or undefined if there is no problem.

/** How often the sessions of two connections are compared. Once is not enough, because another client may use one in between. */
const ATTEMPTS = 3;

/** The kind of pooling that the service supports. */
export const USE_SESSIONS =
  'The service sets its role, its time limits and its locks per session. ' +
  'Use session pooling (pool_mode = session in PgBouncer), or connect to PostgreSQL directly.';

const POOLED =
  'DATABASE_URL connects to a pooler that shares one PostgreSQL session between clients ' +
  `(transaction or statement pooling). ${USE_SESSIONS}`;

/** Returns the problem if a pooler uses transaction or statement pooling. */
export function findPoolingProblem(settings: ConnectionSettings): Promise<string | undefined> {
  return administer(settings, (idle) =>
    administer(settings, async (busy) => {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const before = await sessionOf(idle);
        // Statement pooling refuses BEGIN and closes the connection.
        if (!(await begins(busy)) || (await sessionOf(busy)) === before) return POOLED;
        if ((await sessionOf(idle)) !== before) return POOLED;
        await busy.query('commit');
      }
      return undefined;
    }),
  );
}

/** Explains that a pooler refuses the startup options of the service. Undefined for any other error. */
export function findRefusedOptions(error: unknown): string | undefined {
  if (!(error instanceof Error) || !error.message.includes('unsupported startup parameter')) return undefined;
  return (
    `The connection pooler of DATABASE_URL refuses the startup options of the service (${error.message}). ` +
    `Let it ignore them (ignore_startup_parameters = options in PgBouncer). ${USE_SESSIONS}`
  );
}

async function sessionOf(client: pg.ClientBase): Promise<number | undefined> {
  const { rows } = await client.query<{ session: number }>('select pg_catalog.pg_backend_pid() as session');
  return rows[0]?.session;
}

async function begins(client: pg.ClientBase): Promise<boolean> {
  try {
    await client.query('begin');
    return true;
  } catch {
    return false;
  }
}

/** Returns the problem if a crash of the server's machine can lose or damage committed data. */
export function findDurabilityProblem(settings: ConnectionSettings): Promise<string | undefined> {
  return administer(settings, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select name from pg_catalog.unnest(array['fsync', 'full_page_writes']) as name
        where pg_catalog.current_setting(name) <> 'on' order by name`,
    );
    if (rows.length === 0) return undefined;
    const off = rows.map(({ name }) => name);
    const statements = off.map((name) => `ALTER SYSTEM SET ${name} = on;`).join(' ');
    return (
      `The PostgreSQL server runs with ${off.map((name) => `${name} = off`).join(' and ')}, so a crash of its machine ` +
      'can lose or damage transfers that were already confirmed. ' +
      `As a superuser, run ${statements} SELECT pg_reload_conf(); and start the service again.`
    );
  });
}

/** Finds settings that only a superuser may set, and that may have been set for the service's user. */
export function findUserProblem(settings: ConnectionSettings): Promise<string | undefined> {
  return administer(settings, async (client) => {
    const { rows } = await client.query<{ user: string; replication: string }>(
      "select current_user::text as user, pg_catalog.current_setting('session_replication_role') as replication",
    );
    const { user, replication } = rows[0] ?? { user: '', replication: '' };
    if (replication !== 'origin') {
      return (
        `The user ${user} has session_replication_role = ${replication}, which disables the triggers that protect the ` +
        `books and the audit log. As a superuser: ALTER ROLE "${user}" RESET session_replication_role;`
      );
    }
    if ((await severityOfWarning(client)) === 'WARNING') return undefined;
    return (
      'PostgreSQL writes its messages in a language other than English, but the service recognizes warnings and ' +
      `fatal errors by their English names. As a superuser: ALTER ROLE "${user}" SET lc_messages = 'C';`
    );
  });
}

/** Reports that the tables of a placement are on a different node, so this node cannot write. */
export function findPlacementProblem(settings: ConnectionSettings): Promise<string | undefined> {
  const { schema = DEFAULT_SCHEMA } = settings;
  return administer(settings, async (client) => {
    const { rows } = await client.query<{ isPlacement: boolean }>(`select ${IS_PLACEMENT_IN} as "isPlacement"`, [
      schema,
    ]);
    if (rows[0]?.isPlacement !== true || (await hasTables(client, schema))) return undefined;
    return (
      `The tables of the schema ${schema} are on another node of the Citus cluster. Name all workers in DATABASE_URL, ` +
      'with target_session_attrs=read-write: the service uses the one that has them.'
    );
  });
}

/** Returns the server's untranslated name for the severity of a warning. `pg` returns only the translated name. */
async function severityOfWarning(client: pg.ClientBase): Promise<string | undefined> {
  let severity: string | undefined;
  client.on('notice', (notice) => {
    severity = notice.severity;
  });
  await client.query("do $$ begin raise warning 'a test of how warnings are named'; end $$");
  return severity;
}

/**
 * A maximum number of connections, or null for none, and the number of open connections, except the one that reads these numbers.
 */
type Usage = { readonly max: number | null; readonly used: number };
type UsageRow = { readonly user: string; readonly database: string } & Readonly<
  Record<'role' | 'ofDatabase' | 'server', Usage>
>;

/** A limit on the connections to the server, to a database, or of a role, and how to raise it. */
type ConnectionLimit = {
  readonly whose: string;
  readonly raise: string;
  readonly max: number;
  readonly free: number;
};

/**
 * Superusers are exempt from the limits of roles and databases, and may use the reserved connections. `reserved_connections` is new
 * in PostgreSQL 16.
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
 * Reads the connection limits of the role, the database and the server. Returns the lowest limit, and the limit with the fewest
 * free connections.
 */
export async function readConnectionLimits(
  settings: ConnectionSettings,
): Promise<{ readonly lowest: ConnectionLimit; readonly tightest: ConnectionLimit }> {
  const { rows } = await administer(settings, (client) => client.query<UsageRow>(READ_USAGE));
  const [usage] = rows;
  if (usage === undefined) throw new Error('the database returned no row for its own user');
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
