import pg from 'pg';
import { StartupProblem, sayWhileWaiting } from '../../foundation/startup-problem.ts';
import { administer, type ConnectionSettings } from '../connection/connections.ts';
import { hasSchema } from '../connection/database-problem.ts';
import { DEADLOCK_DETECTED, INSUFFICIENT_PRIVILEGE, LOCK_NOT_AVAILABLE } from '../connection/failure.ts';
import { readAdvisoryHolder, readTableUser } from '../connection/lock-holder.ts';
import { IS_PLACEMENT } from '../connection/placement.ts';
import { DEFAULT_SCHEMA } from '../connection/session-settings.ts';
import { type AppliedMigration, compareSchema, READ_APPLIED, requireUsableSchema } from './compatibility.ts';
import { concurrentIndexOf, type Migration, numberOf, readMigrations, splitStatements } from './migration-files.ts';
import { findMissingRights, findMissingUpgradeRights } from './rights.ts';

/**
 * The key of the advisory lock of the process that migrates. All schemas of a database share one lock, because migrations also
 * create roles, which all services on a server share.
 */
const MIGRATION_LOCK = 7_201_001;

/** The pause between two attempts to take the lock. */
const TURN_MILLISECONDS = 100;

export type MigrateOptions = Applying & {
  /** Called with the names of a newer version's migrations that this program can work with, if there are any. */
  readonly onNewer?: (names: readonly string[]) => void;
  /** How often to report that another process is migrating. Set only by tests. */
  readonly everyMilliseconds?: number;
  readonly migrations?: readonly Migration[];
};

/**
 * Names of the migrations that the database lacks, in order. Throws {@link StartupProblem} if this program must not run
 * on the schema.
 */
export async function pendingMigrations(settings: ConnectionSettings): Promise<readonly string[]> {
  return administer(settings, async (client) => {
    const applied = (await hasHistory(client)) ? await readApplied(client) : [];
    const migrations = await readMigrations();
    requireUsableSchema(migrations, applied);
    return compareSchema(migrations, applied).pending.map(({ name }) => name);
  });
}

/**
 * Applies the missing migrations, one process at a time, and returns their names. It can be run again after a failure or a crash.
 * Throws {@link StartupProblem} if this program cannot run on the schema, an applied migration was edited, the user of the
 * database lacks the privileges to migrate, or the tables are in use for too long.
 */
export async function migrate(settings: ConnectionSettings, options: MigrateOptions = {}): Promise<readonly string[]> {
  const apply = async (client: pg.ClientBase): Promise<readonly string[]> => {
    // The server ends our statement soon after this process is killed.
    await client.query("set client_connection_check_interval = '1s'");
    await takeTurn(client, options);
    // All refusals come before the first change.
    const schema = settings.schema ?? DEFAULT_SCHEMA;
    const isNew = !(await hasHistory(client));
    const migrations = options.migrations ?? (await readMigrations());
    const applied = isNew ? [] : await readApplied(client);
    requireUsableSchema(migrations, applied);
    const { pending, usable } = compareSchema(migrations, applied);
    if (usable.length > 0) options.onNewer?.(usable);
    if (pending.length > 0) {
      await refusePlacement(client);
      const missing = isNew
        ? await findMissingRights(client, schema)
        : await findMissingUpgradeRights(client, schema, migrations, applied);
      if (missing !== undefined) throw missing;
    }
    if (isNew) {
      if (!(await hasSchema(client, schema))) await client.query(`create schema "${schema}"`);
      await client.query(`create table schema_migration (name text primary key, checksum text not null,
        applied_at timestamptz not null default clock_timestamp(), needs text)`);
    }
    // A ledger that starts with this version never needs to run an older one, so from the start, it gets data that only this
    // version can read.
    for (const { needs, ...migration } of pending) {
      await applyMigration(client, { ...migration, needs: isNew ? numberOf(migration.name) : needs }, options);
    }
    return pending.map(({ name }) => name);
  };
  return administer(settings, (client) =>
    apply(client).catch(async (error: unknown) => {
      throw await explain(client, error);
    }),
  );
}

/**
 * Waits until no other process migrates, by polling. A statement that waits for the lock would have a snapshot, and a `create
 * index concurrently` of the holder would wait in turn for the end of that snapshot.
 */
async function takeTurn(client: pg.ClientBase, { onWait, everyMilliseconds }: MigrateOptions): Promise<void> {
  const isOurs = async (): Promise<boolean> => {
    const { rows } = await client.query<{ ours: boolean }>('select pg_try_advisory_lock($1) as ours', [MIGRATION_LOCK]);
    return rows[0]?.ours === true;
  };
  let holder = 'another process';
  const say = (seconds: number): void => onWait?.(`Still waiting for ${holder}, which is migrating (${seconds} s).`);
  await sayWhileWaiting(
    say,
    async () => {
      while (!(await isOurs())) {
        holder = (await readAdvisoryHolder(client, MIGRATION_LOCK)) ?? holder;
        await new Promise((wake) => setTimeout(wake, TURN_MILLISECONDS));
      }
    },
    everyMilliseconds,
  );
}

async function hasHistory(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ present: boolean }>(
    "select to_regclass('schema_migration') is not null as present",
  );
  return rows[0]?.present === true;
}

/**
 * Refuses a placement. Migrations are written for plain PostgreSQL: Citus would refuse some, and others would leave a placement
 * that cannot be moved.
 */
async function refusePlacement(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ isPlacement: boolean }>(`select ${IS_PLACEMENT} as "isPlacement"`);
  if (rows[0]?.isPlacement !== true) return;
  throw new StartupProblem(
    'distribution-refused',
    'This version has new migrations, which cannot be applied to a ledger on a Citus cluster. Stop the service, and with ' +
      'the address of the coordinator run "npx transfer-service distribute --undo", then "migrate", then "distribute".',
  );
}

async function readApplied(client: pg.ClientBase): Promise<readonly AppliedMigration[]> {
  return (await client.query<AppliedMigration>(READ_APPLIED)).rows;
}

/** Turns a missing privilege or an unavailable lock into a problem that the operator can solve. */
async function explain(client: pg.ClientBase, error: unknown): Promise<unknown> {
  if (!(error instanceof pg.DatabaseError)) return error;
  if (error.code !== INSUFFICIENT_PRIVILEGE && error.code !== LOCK_NOT_AVAILABLE) return error;
  const isLocked = error.code === LOCK_NOT_AVAILABLE;
  const usual = isLocked
    ? adviceFor(await findTableUser(client))
    : 'Run the command as the owner of the database and its tables.';
  const advice = error.hint ?? usual;
  return new StartupProblem(
    isLocked ? 'migration-locked' : 'database-rights',
    `The migrations cannot be applied: ${error.message}. ${advice}`,
    { cause: error },
  );
}

async function findTableUser(client: pg.ClientBase): Promise<string | undefined> {
  try {
    await client.query('rollback');
    return await readTableUser(client);
  } catch {
    // Ignored, so that the reason for the failed migration is reported.
    return undefined;
  }
}

function adviceFor(user: string | undefined): string {
  const who = user === undefined ? 'The tables are in use by a transaction that does not end' : user;
  return `${who}. Nothing has changed: end that transaction, and run the command again.`;
}

export type SchemaFacts = {
  readonly migration: string | undefined;
  /**
   * Whether every program that may run on the schema can read the compact payloads of events that this version writes (migration
   * 0046).
   */
  readonly compactsPayloads: boolean;
};

export async function readSchema(settings: ConnectionSettings): Promise<SchemaFacts> {
  return administer(settings, async (client) => {
    const { rows } = await client.query<{ name: string | null; compacts: boolean }>(
      `select max(name) as name, coalesce(max(needs), '') >= '0046' as compacts from schema_migration`,
    );
    return { migration: rows[0]?.name ?? undefined, compactsPayloads: rows[0]?.compacts === true };
  });
}

type Applying = {
  readonly onApplied?: (name: string, milliseconds: number) => void;
  /** Called with a sentence when a step takes longer than expected. */
  readonly onWait?: (sentence: string) => void;
  /** The number of attempts to get the locks of a migration. Set only by tests. */
  readonly tries?: number;
};

/**
 * The longest wait for a lock, in milliseconds. Every later statement on the table queues behind a waiting migration. So the wait
 * and the time under the lock must stay below half a second together.
 */
const LOCK_MILLISECONDS = 150;

/** The number of attempts. With the pauses in between, they take about half a minute. */
const TRIES = 40;

/** The pause after the first attempt. Each further pause is longer, up to the maximum. */
const FIRST_PAUSE_MILLISECONDS = 50;
const LONGEST_PAUSE_MILLISECONDS = 1000;

/** Longer than `deadlock_timeout` (a second by default). After that time, PostgreSQL ends an autovacuum that blocks the lock. */
const AUTOVACUUM_MILLISECONDS = 3000;

async function applyMigration(client: pg.ClientBase, migration: Migration, applying: Applying): Promise<void> {
  const started = performance.now();
  if (migration.isOutsideTransaction) await applyByStatement(client, migration, applying);
  else {
    await inTries(client, migration.name, applying, async () => {
      await client.query(migration.text);
      await note(client, migration);
    });
  }
  applying.onApplied?.(migration.name, performance.now() - started);
}

async function note(client: pg.ClientBase, { name, checksum, needs }: Migration): Promise<void> {
  await client.query('insert into schema_migration (name, checksum, needs) values ($1, $2, $3)', [
    name,
    checksum,
    needs,
  ]);
}

/** Runs a transaction that waits only briefly for locks. Retries it after the statements that have queued behind it. */
async function inTries(
  client: pg.ClientBase,
  what: string,
  { onWait, tries = TRIES }: Applying,
  run: () => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(`begin; set local lock_timeout = ${LOCK_MILLISECONDS}`);
      await run();
      await client.query('commit');
      return;
    } catch (error) {
      const isLocked =
        error instanceof pg.DatabaseError && (error.code === LOCK_NOT_AVAILABLE || error.code === DEADLOCK_DETECTED);
      if (!isLocked || attempt >= tries) throw error;
    }
    await client.query('rollback');
    onWait?.(`${what}: its tables are in use; trying again (attempt ${attempt + 1} of ${tries})`);
    await endAutovacuum(client);
    const pause = Math.min(LONGEST_PAUSE_MILLISECONDS, FIRST_PAUSE_MILLISECONDS * attempt);
    await new Promise((wake) => setTimeout(wake, pause));
  }
}

/**
 * Ends autovacuums of our tables. They may run for hours, and PostgreSQL ends them only for a session that waits longer than our
 * attempts take. The lock requested here holds up no one, because reads and writes do not conflict with it.
 */
async function endAutovacuum(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(`select distinct quote_ident(relname) as name
    from pg_locks join pg_class on pg_class.oid = relation
    where relnamespace = current_schema()::regnamespace and relkind = 'r' and mode = 'ShareUpdateExclusiveLock'
      and granted and pid <> pg_backend_pid()
      and pg_locks.database = (select oid from pg_database where datname = current_database())`);
  for (const { name } of rows) {
    try {
      await client.query(`begin; set local lock_timeout = ${AUTOVACUUM_MILLISECONDS};
        lock table ${name} in share update exclusive mode; commit`);
    } catch (error) {
      await client.query('rollback');
      if (!(error instanceof pg.DatabaseError && error.code === LOCK_NOT_AVAILABLE)) throw error;
    }
  }
}

/**
 * Applies a migration that cannot run in a transaction. Its locks let others read and write, so it waits for them without a
 * limit. An interrupted attempt leaves an invalid index, which is removed and built again. An attempt that was interrupted before
 * it was recorded leaves a valid index, which is kept.
 */
async function applyByStatement(client: pg.ClientBase, migration: Migration, applying: Applying): Promise<void> {
  for (const statement of splitStatements(migration.text)) {
    const built = concurrentIndexOf(statement);
    const isThere = built !== undefined && (await keepValidIndex(client, built, applying));
    if (!isThere) await client.query(statement);
  }
  await note(client, migration);
}

/** Whether the index exists and is valid. Removes it if it is invalid. */
async function keepValidIndex(
  client: pg.ClientBase,
  { index, table }: { readonly index: string; readonly table: string },
  { onWait }: Applying,
): Promise<boolean> {
  const { rows } = await client.query<{ valid: boolean }>(
    `select indisvalid as valid from pg_index join pg_class on pg_class.oid = indexrelid
      where relnamespace = current_schema()::regnamespace and relname = $1 and indrelid = to_regclass($2)`,
    [index, table],
  );
  if (rows[0]?.valid !== false) return rows[0]?.valid === true;
  onWait?.(`The index ${index} was not completed by an earlier attempt: it is removed and built again`);
  await client.query(`drop index concurrently if exists ${index}`);
  return false;
}
