import type pg from 'pg';
import { StartupProblem } from '../../foundation/startup-problem.ts';
import { type Migration, namesCreatedBy, readMigrations } from '../migrations/migration-files.ts';
import { findMissingRights, ROLES } from '../migrations/rights.ts';
import { administer, type ConnectionSettings, connectPlainly } from './connections.ts';
import { DEFAULT_SCHEMA } from './session-settings.ts';

// Invariant: An unusable database is refused before anything in it changes
// Kept by: this file, `server-problem.ts`
// Tested by: `test/start/database-problems.test.ts`, `test/start/foreign-server.test.ts`

/** The purpose of opening a database. Commands that only check accept a read-only database. */
export type DatabaseUse = 'read' | 'write';

/** The oldest version of PostgreSQL that the migrations support. */
const OLDEST_MAJOR = 15;

export type ServerFacts = {
  /** In the form of `server_version_num`: 150004 is 15.4. */
  readonly versionNumber: number;
  readonly version: string;
  readonly encoding: string;
  readonly database: string;
  readonly isStandby: boolean;
  readonly readOnly: string;
  /** The place where `default_transaction_read_only` was set, as in `pg_settings`. */
  readonly readOnlySource: string;
};

/**
 * Returns the reason why the service cannot use a database, or undefined if it can. This is checked first, on a connection without
 * the service's settings, because an older server would refuse some of them. Changes nothing. Throws the error of `pg` if it cannot
 * connect.
 */
export function findDatabaseProblem(
  settings: ConnectionSettings,
  use: DatabaseUse,
): Promise<StartupProblem | undefined> {
  return connectPlainly(settings, async (client) => {
    const problem = findServerProblem(await readServer(client), use);
    if (problem !== undefined) return problem;
    // One snapshot, because another process may be creating the schema.
    await client.query('begin isolation level repeatable read, read only');
    const found = await findSchemaProblem(client, settings.schema ?? DEFAULT_SCHEMA);
    await client.query('commit');
    return found;
  });
}

/** Returns the problem if it concerns the server or the database as a whole. Part of {@link findDatabaseProblem}. */
export function findServerProblem(facts: ServerFacts, use: DatabaseUse): StartupProblem | undefined {
  const { versionNumber, version, encoding, database, isStandby, readOnly, readOnlySource } = facts;
  if (versionNumber < OLDEST_MAJOR * 10_000) {
    return new StartupProblem(
      'database-version',
      `The database server runs PostgreSQL ${version}, and the service needs ${OLDEST_MAJOR} or later. ` +
        'Upgrade the server, or set DATABASE_URL to a newer one.',
    );
  }
  if (encoding !== 'UTF8') {
    return new StartupProblem(
      'database-encoding',
      `The database ${database} has the encoding ${encoding}, and the service needs UTF8 to store every text unchanged. ` +
        "Create a database with CREATE DATABASE <name> ENCODING 'UTF8' TEMPLATE template0, and set DATABASE_URL to it.",
    );
  }
  if (use === 'read') return undefined;
  if (isStandby) {
    return new StartupProblem(
      'database-read-only',
      'The database server is a standby, which is read-only. Set DATABASE_URL to the primary server.',
    );
  }
  // The service overrides this setting if it is set for the service's user, but not if it is set for the whole database or server.
  if (readOnly === 'on' && !['user', 'database user', 'client', 'session'].includes(readOnlySource)) {
    return new StartupProblem(
      'database-read-only',
      `The database ${database} is read-only: default_transaction_read_only is on (${readOnlySource}). ` +
        'Make it writable, or set DATABASE_URL to another one.',
    );
  }
  return undefined;
}

async function readServer(client: pg.ClientBase): Promise<ServerFacts> {
  // This statement must work on every old server.
  const { rows } = await client.query<ServerFacts>(`select
      pg_catalog.current_setting('server_version_num')::pg_catalog.int4 as "versionNumber",
      pg_catalog.current_setting('server_version') as version,
      pg_catalog.current_setting('server_encoding') as encoding,
      pg_catalog.current_database() as database,
      pg_catalog.pg_is_in_recovery() as "isStandby",
      setting as "readOnly", source as "readOnlySource"
    from pg_catalog.pg_settings where name = 'default_transaction_read_only'`);
  const [facts] = rows;
  if (facts === undefined) throw new Error('the server has no setting default_transaction_read_only');
  return facts;
}

export async function hasSchema(client: pg.ClientBase, schema: string): Promise<boolean> {
  const { rowCount } = await client.query('select from pg_catalog.pg_namespace where nspname = $1', [schema]);
  return rowCount === 1;
}

async function findSchemaProblem(client: pg.ClientBase, schema: string): Promise<StartupProblem | undefined> {
  // `migrate` will create the schema.
  if (!(await hasSchema(client, schema))) return undefined;
  const history = await readHistoryColumns(client, schema);
  if (history !== '' && history !== HISTORY_COLUMNS && !history.startsWith(`${HISTORY_COLUMNS}, `)) {
    return foreign(schema, 'its table schema_migration was not created by the service');
  }
  const access = await findAccessProblem(client, schema, history !== '');
  if (access !== undefined) return access;
  const migrations = await readMigrations();
  const applied = history === '' ? [] : await readAppliedNames(client, schema);
  const taken = await readTakenNames(client, schema, namesToCome(migrations, applied));
  if (taken.length === 0) return undefined;
  const shown = taken.length > 3 ? `${taken.slice(0, 3).join(', ')} and ${taken.length - 3} more` : taken.join(', ');
  return foreign(
    schema,
    `it already contains objects that have names of the service and were not created by it: ${shown}`,
  );
}

function foreign(schema: string, problem: string): StartupProblem {
  const elsewhere = schema === DEFAULT_SCHEMA ? 'a separate schema, such as transfer_service' : 'another schema';
  return new StartupProblem(
    'schema-taken',
    `The schema ${schema} cannot be used: ${problem}. Set DATABASE_SCHEMA to ${elsewhere}, or DATABASE_URL to another database.`,
  );
}

/** The first columns of the history. They are the same in every version. Later versions have more. */
const HISTORY_COLUMNS = 'name text, checksum text, applied_at timestamp with time zone';

/** Returns the columns of the object that has the name of the history, or an empty string if there is none. */
async function readHistoryColumns(client: pg.ClientBase, schema: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    `select coalesce(pg_catalog.string_agg(attname || ' ' || pg_catalog.format_type(atttypid, atttypmod), ', '
        order by attnum) filter (where attnum > 0 and not attisdropped and relkind = 'r'), 'none') as columns
      from pg_catalog.pg_class
      join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
      left join pg_catalog.pg_attribute on attrelid = pg_class.oid
      where nspname = $1 and relname = 'schema_migration' group by pg_class.oid`,
    [schema],
  );
  return rows[0]?.columns ?? '';
}

async function findAccessProblem(
  client: pg.ClientBase,
  schema: string,
  isInstalled: boolean,
): Promise<StartupProblem | undefined> {
  const { rows } = await client.query<{ user: string; usable: boolean; rolesWithout: string[] }>(
    `select pg_catalog.quote_ident(current_user) as user,
        pg_catalog.has_schema_privilege(oid, 'usage') as usable,
        array(
          select rolname::text from pg_catalog.pg_roles
          where rolname = any ($2) and not pg_catalog.has_schema_privilege(rolname, pg_namespace.oid, 'usage')
          order by rolname
        ) as "rolesWithout"
      from pg_catalog.pg_namespace where nspname = $1`,
    [schema, ROLES],
  );
  const [{ user, usable, rolesWithout } = { user: '', usable: true, rolesWithout: [] }] = rows;
  if (isInstalled && rolesWithout.length > 0) {
    return new StartupProblem(
      'database-rights',
      `The roles of the service may not use the schema ${schema}. ` +
        `As its owner: GRANT USAGE ON SCHEMA "${schema}" TO ${rolesWithout.join(', ')};`,
    );
  }
  if (usable) return undefined;
  // Lists all privileges that a new ledger needs, so that the user can ask for them all at once.
  if (!isInstalled) return findMissingRights(client, schema);
  return new StartupProblem(
    'database-rights',
    `The user ${user} may not use the schema ${schema}. As a superuser: GRANT ${ROLES.join(', ')} TO ${user};`,
  );
}

async function readAppliedNames(client: pg.ClientBase, schema: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(`select name from "${schema}".schema_migration`);
  return rows.map(({ name }) => name);
}

/** Returns the names that migrations will create, without the names that they only replace. */
function namesToCome(migrations: readonly Migration[], applied: readonly string[]): readonly string[] {
  const isApplied = ({ name }: Migration): boolean => applied.includes(name);
  const ours = new Set(migrations.filter(isApplied).flatMap(namesCreatedBy));
  // An interrupted attempt may have left objects that are created outside a transaction. `migrate` handles these.
  const wanted = migrations
    .filter((migration) => !isApplied(migration) && !migration.isOutsideTransaction)
    .flatMap(namesCreatedBy);
  return [...new Set(wanted)].filter((name) => !ours.has(name));
}

/** Returns the names that exist in a schema, and the kind of each object. */
async function readTakenNames(
  client: pg.ClientBase,
  schema: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await client.query<{ what: string }>(
    `select distinct what from (
        select case relkind when 'i' then 'index ' when 'v' then 'view ' when 'm' then 'view ' when 'S' then 'sequence '
          when 'c' then 'type ' else 'table ' end || relname as what, relnamespace as namespace, relname as name
        from pg_catalog.pg_class
        union all select 'type ' || typname, typnamespace, typname from pg_catalog.pg_type where typrelid = 0
        union all select 'function ' || proname, pronamespace, proname from pg_catalog.pg_proc
      ) as found join pg_catalog.pg_namespace on pg_namespace.oid = namespace
      where nspname = $1 and name = any ($2) order by what`,
    [schema, names],
  );
  return rows.map(({ what }) => what);
}

export type DatabaseFacts = { readonly version: string; readonly user: string; readonly megabytes: number };

export function readDatabaseFacts(settings: ConnectionSettings): Promise<DatabaseFacts> {
  return administer(settings, async (client) => {
    const { rows } = await client.query<DatabaseFacts>(
      `select current_setting('server_version') as version, current_user::text as user,
        (pg_database_size(current_database()) / 1000000)::int4 as megabytes`,
    );
    return rows[0] ?? { version: 'unknown', user: 'unknown', megabytes: 0 };
  });
}
