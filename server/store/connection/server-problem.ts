import type pg from 'pg';
import { administer, type ConnectionSettings } from './connections.ts';
import { hasTables, IS_PLACEMENT_IN } from './placement.ts';
import { DEFAULT_SCHEMA } from './session-settings.ts';

// Settings of the server, or of a pooler in front of it, that the service cannot override on its connections. Each function
// returns a sentence that says what to change, or undefined if there is no problem.

/** How often the sessions of two connections are compared, because another client may use one in between. */
const ATTEMPTS = 3;

/** The kind of pooling that the service supports. */
export const USE_SESSIONS =
  'The service sets its role, its time limits and its locks per session. ' +
  'Use session pooling (pool_mode = session in PgBouncer), or connect to PostgreSQL directly.';

const POOLED =
  'DATABASE_URL connects to a pooler that shares one PostgreSQL session between clients ' +
  `(transaction or statement pooling). ${USE_SESSIONS}`;

/** Whether a pooler uses transaction or statement pooling. */
export function findPoolingProblem(settings: ConnectionSettings): Promise<string | undefined> {
  return administer(settings, (idle) =>
    administer(settings, async (busy) => {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const before = await sessionOf(idle);
        // Statement pooling refuses it and closes the connection.
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

/** Whether a crash of the server's machine can lose or damage committed data. */
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

/** Finds settings that only a superuser may set, and that may have been set for the user of the service. */
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

/** Reports that the tables of a placement are on another node, so that this node cannot write. */
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

/** The server's own name for the severity of a warning: `pg` returns only the translated name. */
async function severityOfWarning(client: pg.ClientBase): Promise<string | undefined> {
  let severity: string | undefined;
  client.on('notice', (notice) => {
    severity = notice.severity;
  });
  await client.query("do $$ begin raise warning 'a test of how warnings are named'; end $$");
  return severity;
}
