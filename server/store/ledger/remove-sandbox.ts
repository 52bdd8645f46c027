import pg from 'pg';
import { StartupProblem } from '../../foundation/startup-problem.ts';
import { administer, type ConnectionSettings } from '../connection/connections.ts';
import { readTableUser } from '../connection/lock-holder.ts';
import { DEFAULT_SCHEMA } from '../connection/session-settings.ts';
import type { LedgerMode } from '../ledger-mode.ts';
import { namesCreatedBy, readMigrations } from '../migrations/migration-files.ts';

// Invariant: A live ledger is never removed: `sandbox reset` drops only a sandbox that no service uses
// Kept by: the mode is read under a lock, in the transaction that drops
// Tested by: `test/start/host/sandbox-reset.test.ts`

export type SandboxContents = { readonly cards: number; readonly transfers: number };

/** The names of objects that the migrations created, by kind, as written in a statement. */
type Objects = {
  readonly tables: string;
  /** Functions that take a row of a table as their argument depend on the table. Tables depend on the other functions. */
  readonly rowFunctions: string;
  readonly functions: string;
  readonly types: string;
};

/** Maximum wait for a lock. A transaction that holds a lock for longer is using the ledger. */
const LOCK_TIMEOUT = '10s';

const LOCK_NOT_AVAILABLE = '55P03';
const STILL_NEEDED = '2BP01';

/**
 * Returns the contents of a sandbox ledger, or undefined if there is no ledger. Throws {@link StartupProblem} if the ledger must
 * not be removed: because it is live, its mode is not known yet, or a service uses it.
 */
export function inspectSandbox(settings: ConnectionSettings): Promise<SandboxContents | undefined> {
  return administer(settings, async (client) => {
    await client.query('begin isolation level repeatable read, read only');
    if (!(await isThere(client, 'schema_migration'))) return undefined;
    await requireUnusedSandbox(client);
    const { rows } = await client.query<SandboxContents>(
      'select (select count(*) from card)::int4 as cards, (select count(*) from transfer)::int4 as transfers',
    );
    await client.query('commit');
    return rows[0];
  });
}

/**
 * Removes a sandbox ledger: everything that the migrations created in the schema, and nothing else. The transaction that removes it
 * also reads the mode, under a lock that prevents services from starting, so a live ledger is never removed. Throws {@link
 * StartupProblem} like {@link inspectSandbox}, and then removes nothing.
 */
export function removeSandbox(settings: ConnectionSettings): Promise<void> {
  const remove = async (client: pg.ClientBase): Promise<void> => {
    await client.query('begin');
    await client.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
    if (await isThere(client, 'ledger_mode')) await client.query('lock table ledger_mode in access exclusive mode');
    await requireUnusedSandbox(client);
    const { tables, rowFunctions, functions, types } = await findObjects(client, settings.schema ?? DEFAULT_SCHEMA);
    // Dropped together, because they refer to one another. There is no CASCADE, because objects that others have built on them must
    // stay.
    for (const statement of [
      rowFunctions === '' ? '' : `drop function ${rowFunctions}`,
      `drop table ${tables}`,
      functions === '' ? '' : `drop function ${functions}`,
      types === '' ? '' : `drop type ${types}`,
    ]) {
      if (statement !== '') await client.query(statement);
    }
    await client.query('commit');
  };
  return administer(settings, (client) =>
    remove(client).catch(async (error: unknown) => {
      await client.query('rollback').catch(() => undefined);
      throw explain(error, await readTableUser(client).catch(() => undefined));
    }),
  );
}

async function isThere(client: pg.ClientBase, table: string): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [table]);
  return rows[0]?.there === true;
}

async function requireUnusedSandbox(client: pg.ClientBase): Promise<void> {
  const { rows } = (await isThere(client, 'ledger_mode'))
    ? await client.query<{ mode: LedgerMode }>('select mode from ledger_mode')
    : { rows: [] };
  const mode = rows[0]?.mode;
  if (mode !== 'sandbox') {
    throw new StartupProblem(
      'ledger-mode',
      mode === undefined
        ? 'Cannot tell whether this ledger is a sandbox, because no service has started on it yet. Nothing was removed.'
        : 'This is a live ledger. Only a sandbox can be reset. Nothing was removed.',
    );
  }
  // If this user may not see the services of other users, they are listed without a name.
  const { rows: found } = await client.query<{ services: number }>(
    `select count(*)::int4 as services from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()
        and (application_name = 'transfer-service' or (application_name is null and backend_type is null))`,
  );
  if ((found[0]?.services ?? 0) === 0) return;
  throw new StartupProblem(
    'data-directory-in-use',
    'A service is connected to this ledger. Stop it first, then run the command again. Nothing was removed.',
  );
}

/** Returns the objects that the migrations created in the schema. Partitions are dropped with their tables. */
async function findObjects(client: pg.ClientBase, schema: string): Promise<Objects> {
  const names = [...new Set((await readMigrations()).flatMap(namesCreatedBy)), 'schema_migration'];
  const { rows } = await client.query<{ [Kind in keyof Objects]: string | null }>(
    `with created as (
        select *, exists (select from pg_class where reltype = any (proargtypes::oid[]) and relkind in ('r', 'p')) as takes_row
        from pg_proc where pronamespace = $1::regnamespace and proname = any ($2)
      )
      select
        (select string_agg(pg_class.oid::regclass::text, ', ') from pg_class
          where relnamespace = $1::regnamespace and relname = any ($2) and relkind in ('r', 'p') and not relispartition
        ) as tables,
        (select string_agg(oid::regprocedure::text, ', ') from created where takes_row) as "rowFunctions",
        (select string_agg(oid::regprocedure::text, ', ') from created where not takes_row) as functions,
        (select string_agg(pg_type.oid::regtype::text, ', ') from pg_type
          where typnamespace = $1::regnamespace and typname = any ($2) and typrelid = 0 and typelem = 0) as types`,
    [`"${schema}"`, names],
  );
  const [found] = rows;
  return {
    tables: found?.tables ?? '',
    rowFunctions: found?.rowFunctions ?? '',
    functions: found?.functions ?? '',
    types: found?.types ?? '',
  };
}

function explain(error: unknown, user = 'The tables of the sandbox are in use'): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  if (error.code === LOCK_NOT_AVAILABLE) {
    return new StartupProblem(
      'migration-locked',
      `${user}. Stop whatever is using the tables, then run the command again. Nothing was removed.`,
      { cause: error },
    );
  }
  if (error.code !== STILL_NEEDED) return error;
  return new StartupProblem(
    'schema-taken',
    `Other database objects depend on the sandbox's objects: ${error.detail ?? error.message} ` +
      'Remove them first, then run the command again. Nothing was removed.',
    { cause: error },
  );
}
