import type pg from 'pg';
import { IS_PLACEMENT, PLACEMENT_SETTINGS } from './placement.ts';

// Invariant: Settings of the role, the database or the server never change a result
// Kept by: every connection applies its own settings
// Tested by: `test/store/session-settings.test.ts`

/** A setting of PostgreSQL that the service fixes on its connections, in the spelling of `pg_settings`. */
export type Setting = readonly [name: string, value: string];

/** Time limits of requests, in milliseconds. A request never waits longer in the store. */
export const LIMITS = {
  /** For a new connection. A running server responds in a few milliseconds. */
  connect: 1000,
  /** For a free connection of a pool or of the server, while the database responds to other requests. */
  crowded: 2000,
  /**
   * For any response while requests wait for a connection. It is longer than `statement`, so that a running server reports its own
   * time-out first, and short enough to report a failure within two seconds.
   */
  silent: 1600,
  /** For a lock, so it also limits how long a group waits for another transaction. */
  lock: 500,
  statement: 1500,
  /** Between two round trips. Only a frozen process takes longer. */
  idleInTransaction: 3000,
  /**
   * For the responses on an open connection to everything that was sent together. It is longer than `statement`, so that a running
   * server reports its own time-out first.
   */
  response: 1800,
} as const;

/**
 * Fixed on every connection. `ALTER ROLE ... SET`, `ALTER DATABASE ... SET` and postgresql.conf may contain other values for
 * other users of the server, and those would change results here. Every user may change these settings.
 */
const PINNED: readonly Setting[] = [
  // The forms of dates, times and bytes in responses. `pg` can read only these.
  ['DateStyle', 'ISO, MDY'],
  ['IntervalStyle', 'postgres'],
  ['TimeZone', 'UTC'],
  ['bytea_output', 'hex'],
  ['extra_float_digits', '1'],
  // The rules for literals and comparisons in the statements.
  ['standard_conforming_strings', 'on'],
  ['array_nulls', 'on'],
  ['transform_null_equals', 'off'],
  // The encoding that `pg` sends and expects.
  ['client_encoding', 'UTF8'],
  // If off, a query raises an error where a policy would filter rows.
  ['row_security', 'on'],
  // Locks are taken in the first statement. Later statements read rows, and must see everything that was committed before.
  ['default_transaction_isolation', 'read committed'],
  ['default_transaction_read_only', 'off'],
  ['default_transaction_deferrable', 'off'],
  // The warning at COMMIT ("committed locally") must reach the service.
  ['client_min_messages', 'warning'],
  // A confirmed transfer must survive a crash of the server. A stronger setting is kept: see `applySettings`.
  ['synchronous_commit', 'on'],
  // Compiling a statement takes longer than running any statement of the service.
  ['jit', 'off'],
  // The planner must choose the plans, so no method may be disabled from outside.
  ['plan_cache_mode', 'auto'],
  ['enable_seqscan', 'on'],
  ['enable_indexscan', 'on'],
  ['enable_indexonlyscan', 'on'],
  ['enable_bitmapscan', 'on'],
  ['enable_nestloop', 'on'],
  ['enable_hashjoin', 'on'],
  ['enable_mergejoin', 'on'],
  ['enable_sort', 'on'],
  // Idle connections in the pools must stay open. The last setting is new in PostgreSQL 17.
  ['idle_session_timeout', '0'],
  ['transaction_timeout', '0'],
];

/** The service's own setting, for a session that requires a standby. */
export const REQUIRED_STANDBY: Setting = ['service.standby', 'required'];

export const STANDBY_IS_REQUIRED = `coalesce(current_setting('${REQUIRED_STANDBY[0]}', true), '') = '${REQUIRED_STANDBY[1]}'`;

/**
 * Settings that cannot be startup options: PostgreSQL before 17 refuses a connection with `transaction_timeout`, the right value of
 * `synchronous_commit` depends on the current one, and the last one is not a setting of PostgreSQL itself.
 */
const SET_LATER: readonly string[] = ['transaction_timeout', 'synchronous_commit', REQUIRED_STANDBY[0]];

/** For work without time limits: startup, commands, migrations, housekeeping, verification. */
export const WITHOUT_LIMITS: readonly Setting[] = [
  ['lock_timeout', '0'],
  ['statement_timeout', '0'],
  ['idle_in_transaction_session_timeout', '0'],
];

/** For all work that a request waits for. */
export const WITHIN_LIMITS: readonly Setting[] = [
  ['lock_timeout', String(LIMITS.lock)],
  ['statement_timeout', String(LIMITS.statement)],
  ['idle_in_transaction_session_timeout', String(LIMITS.idleInTransaction)],
  // A backend that waits for a lock must notice within a second that its client has disconnected.
  ['client_connection_check_interval', '1000'],
];

/**
 * Every statement of a transaction finds its rows by key, so one plan suits every call. For a single transfer, planning the merged
 * write of a group again would take longer than executing it. But a plan that was made for a nearly empty table must not be kept
 * after the table has grown. So sequential scans and hash joins are disabled: the planner prefers them for small tables.
 */
export const WRITER_SETTINGS: readonly Setting[] = [
  ['plan_cache_mode', 'force_generic_plan'],
  ['enable_seqscan', 'off'],
  ['enable_hashjoin', 'off'],
  ['enable_mergejoin', 'off'],
];

/** For single statements. A statement that writes must request a transaction that allows it, see `Database`. */
export const READER_SETTINGS: readonly [Setting] = [['default_transaction_read_only', 'on']];

export const DEFAULT_SCHEMA = 'public';

/**
 * Returns all settings of a connection: the pinned ones, the search path, and further settings, which take precedence. Temporary
 * tables come last in the search path. Otherwise they would come first and hide the real tables.
 */
export function sessionSettings(schema: string, ...more: readonly Setting[]): readonly Setting[] {
  const searchPath = `"${schema.replaceAll('"', '""')}", pg_temp`;
  return [...new Map<string, string>([...PINNED, ['search_path', searchPath], ...more])];
}

/** Returns the settings as startup options. They override the settings of the role, the database and the server. */
export function startupOptions(settings: readonly Setting[]): string {
  return settings
    .filter(([name]) => !SET_LATER.includes(name))
    .map(([name, value]) => `-c ${name}=${value.replaceAll(/[\\\s]/g, '\\$&')}`)
    .join(' ');
}

/** SQL: when the server was started. This distinguishes it from a server that has replaced it. */
export const SERVER = 'extract(epoch from pg_catalog.pg_postmaster_start_time())::text';

const servers = new WeakMap<pg.ClientBase, string>();
const placements = new WeakSet<pg.ClientBase>();

/** Returns the {@link SERVER} of a connection. Undefined before the settings were applied. */
export function serverOf(client: pg.ClientBase): string | undefined {
  return servers.get(client);
}

/** Returns whether the tables of a connection belong to a placement. Valid after the settings were applied: see placement.ts. */
export function isPlacement(client: pg.ClientBase): boolean {
  return placements.has(client);
}

const APPLY = `select ${SERVER} as server, ${IS_PLACEMENT} as "isPlacement", pg_catalog.set_config(name, case
      when name = 'synchronous_commit' and pg_catalog.current_setting(name) = 'remote_apply' then 'remote_apply'
      else value
    end, false)
  from pg_catalog.json_each_text($1) as pinned (name, value)
  where name = '${REQUIRED_STANDBY[0]}' or pg_catalog.current_setting(name, true) is not null`;

/**
 * Applies the settings again in the first statement of a connection. Options in DATABASE_URL replace the startup options, some
 * poolers drop them, and some settings cannot be startup options. If `synchronous_commit` is `remote_apply`, it stays
 * unchanged. Otherwise it becomes `on`. Settings that this version of PostgreSQL does not have are omitted.
 */
export async function applySettings(client: pg.ClientBase, settings: readonly Setting[]): Promise<void> {
  const values = [JSON.stringify(Object.fromEntries(settings))];
  const { rows } = await client.query<{ server: string; isPlacement: boolean }>({ text: APPLY, values });
  for (const { server } of rows) servers.set(client, server);
  // The last row was computed after the search path was set.
  if (rows.at(-1)?.isPlacement !== true) return;
  placements.add(client);
  await client.query(PLACEMENT_SETTINGS);
}

/** Returns the settings that have a different value, in a few words. Undefined if all are as required. */
export async function findDifferingSettings(
  client: { query<Row extends pg.QueryResultRow>(text: string, values: unknown[]): Promise<pg.QueryResult<Row>> },
  settings: readonly Setting[],
): Promise<string | undefined> {
  const { rows } = await client.query<{ name: string; setting: string }>(
    'select name, setting from pg_catalog.pg_settings where name = any($1)',
    [settings.map(([name]) => name)],
  );
  const inForce = new Map(rows.map(({ name, setting }) => [name, setting]));
  const differing = settings.filter(([name, value]) => {
    const found = inForce.get(name);
    if (name === 'synchronous_commit' && found === 'remote_apply') return false;
    return found !== undefined && found !== value;
  });
  if (differing.length === 0) return undefined;
  return differing.map(([name, value]) => `${name} is ${inForce.get(name)} instead of ${value}`).join(', ');
}
