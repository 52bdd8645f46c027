import pg from 'pg';
import { StartupProblem } from '../../startup-problem.ts';
import { administer, type ConnectionSettings } from '../connection/connections.ts';
import { hasSchema } from '../connection/database-problem.ts';
import { INSUFFICIENT_PRIVILEGE, LOCK_NOT_AVAILABLE } from '../connection/failure.ts';
import { DEFAULT_SCHEMA } from '../connection/session-settings.ts';
import { type Migration, readMigrations } from './migration-files.ts';

/**
 * A fixed number: the process that holds it migrates. One for the whole database, whatever the schema, because migrations
 * also create roles, which all services on a server share.
 */
const MIGRATION_LOCK = 7_201_001;

/** The time-out for a lock that a migration needs. */
const LOCK_MILLISECONDS = 3_000;

/** Names of the migrations that the database does not have yet, in order. */
export async function pendingMigrations(settings: ConnectionSettings): Promise<readonly string[]> {
  return administer(settings, async (client) => {
    const applied = (await hasHistory(client)) ? await readApplied(client) : new Map<string, string>();
    return compare(await readMigrations(), applied).map((migration) => migration.name);
  });
}

/**
 * Applies the missing migrations, each in a transaction of its own, one process at a time. Forward only.
 * Throws {@link StartupProblem} when the database is newer than this program, an applied migration was edited, or the
 * user of the database may not do it.
 */
export async function migrate(settings: ConnectionSettings): Promise<readonly string[]> {
  return administer(settings, async (client) => {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await provideSchema(client, settings.schema ?? DEFAULT_SCHEMA);
    if (!(await hasHistory(client))) {
      await client.query(`create table schema_migration (
        name text primary key, checksum text not null, applied_at timestamptz not null default clock_timestamp())`);
    }
    const pending = compare(await readMigrations(), await readApplied(client));
    if (pending.length > 0) await requireSight(client);
    for (const { name, text, checksum } of pending) {
      // A long wait for a table would block every later statement on it, too.
      await client.query(`begin; set local lock_timeout = ${LOCK_MILLISECONDS}`);
      await client.query(text);
      await client.query('insert into schema_migration (name, checksum) values ($1, $2)', [name, checksum]);
      await client.query('commit');
    }
    return pending.map(({ name }) => name);
  }).catch((error: unknown) => {
    throw explain(error);
  });
}

/** Creates the schema where it is missing, which takes the right to create in the database. */
async function provideSchema(client: pg.ClientBase, schema: string): Promise<void> {
  if (await hasSchema(client, schema)) return;
  try {
    await client.query(`create schema "${schema}"`);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== INSUFFICIENT_PRIVILEGE) throw error;
    const { rows } = await client.query<{ user: string }>('select quote_ident(current_user) as user');
    const user = rows[0]?.user ?? '';
    throw new StartupProblem(
      'database-rights',
      `The schema ${schema} does not exist, and the user ${user} may not create it. ` +
        `As a superuser: CREATE SCHEMA "${schema}" AUTHORIZATION ${user};`,
      { cause: error },
    );
  }
}

async function hasHistory(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ present: boolean }>(
    "select to_regclass('schema_migration') is not null as present",
  );
  return rows[0]?.present === true;
}

/** The user that migrates must see every row: otherwise a change of rows would succeed and change none. */
async function requireSight(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ user: string; blind: boolean }>(
    `select current_user as user, coalesce(not pg_has_role(to_regrole('transfer_service_background'), 'usage'), false)
        and exists (select from pg_policies where schemaname = current_schema() and policyname = 'all_programs') as blind`,
  );
  if (rows[0]?.blind !== true) return;
  throw new StartupProblem(
    'database-rights',
    `The user ${rows[0].user} cannot see the rows that a migration may change. ` +
      `As a superuser: GRANT transfer_service_background TO ${rows[0].user};`,
  );
}

/** Turns a missing privilege or a lock that is not available into a problem that the operator can solve. */
function explain(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  if (error.code !== INSUFFICIENT_PRIVILEGE && error.code !== LOCK_NOT_AVAILABLE) return error;
  const isLocked = error.code === LOCK_NOT_AVAILABLE;
  const usual = isLocked
    ? 'The tables are in use: try again, or stop the service first.'
    : 'Run the command as the owner of the database and its tables.';
  const advice = error.hint ?? usual;
  return new StartupProblem(
    isLocked ? 'migration-locked' : 'database-rights',
    `The migrations cannot be applied: ${error.message}. ${advice}`,
    { cause: error },
  );
}

async function readApplied(client: pg.ClientBase): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'select name, checksum from schema_migration',
  );
  return new Map(rows.map((row) => [row.name, row.checksum]));
}

function compare(migrations: readonly Migration[], applied: ReadonlyMap<string, string>): readonly Migration[] {
  const unknown = [...applied.keys()].find((name) => !migrations.some((migration) => migration.name === name));
  if (unknown !== undefined) {
    throw new StartupProblem(
      'schema-too-new',
      `The database has the migration ${unknown}, which this version of the service does not know. ` +
        'Start the version that applied it, or a newer one.',
    );
  }
  const edited = migrations.find(({ name, checksum }) => applied.has(name) && applied.get(name) !== checksum);
  if (edited !== undefined) {
    throw new StartupProblem(
      'migration-changed',
      `The migration ${edited.name} was changed after it was applied to this database. ` +
        'Restore the file, and change the schema in a new migration.',
    );
  }
  return migrations.filter((migration) => !applied.has(migration.name));
}
