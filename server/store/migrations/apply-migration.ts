import pg from 'pg';
import { DEADLOCK_DETECTED, LOCK_NOT_AVAILABLE } from '../connection/failure.ts';
import { concurrentIndexOf, type Migration, splitStatements } from './migration-files.ts';

export type Applying = {
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

export async function applyMigration(client: pg.ClientBase, migration: Migration, applying: Applying): Promise<void> {
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
