import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { codeOf } from '../foundation/startup-problem.ts';
import { administer, type ConnectionSettings } from './connection/connections.ts';
import { DEADLOCK_DETECTED, LOCK_NOT_AVAILABLE, QUERY_CANCELED } from './connection/failure.ts';
import { DEFAULT_SCHEMA } from './connection/session-settings.ts';

// Turns a ledger into a placement. See connection/placement.ts.

/** A node of a Citus cluster, by the name and port that the coordinator uses for it. */
export type Node = { readonly host: string; readonly port: number };

/** The reason why a ledger cannot be distributed or moved, as a sentence that says what to do. Nothing was changed. */
export class PlacementProblem extends Error {
  override readonly name = 'PlacementProblem';
}

export type LocatedLedger = { readonly schema: string; readonly node: Node; readonly workers: readonly Node[] };

/** Citus distributes every schema except `public`. A ledger in `public` is renamed to this one. */
export const SCHEMA_OF_PLACEMENT = 'transfer_service';

/** How often to try to lock the tables for a move and to look for services, and the pause between two attempts. */
const MAX_TRIES = 100;
const MAX_LOOKS = 10;
const PAUSE_MILLISECONDS = 200;

/** The longest wait for a table's lock, in milliseconds. Transfers queue behind the waiting statement. */
const LOCK_MILLISECONDS = 1_000;

/** The message of Citus if a session is still using the old copy from an earlier move. */
const LEFT_FROM_EARLIER = 'leftover from the previous move could not be cleaned up';

/** Citus 12 is the first version that distributes schemas. */
const OLDEST_CITUS = 12;

/**
 * Distributes the schema of a ledger, from the coordinator of a Citus cluster, in one transaction. All of its tables go to one
 * node, which Citus chooses. The service must be stopped. Throws {@link PlacementProblem} if nothing can be distributed, and the error
 * of `pg` if PostgreSQL refuses.
 */
export function distribute(settings: ConnectionSettings): Promise<LocatedLedger> {
  return administer(settings, async (client) => {
    await requireCluster(client);
    const found = settings.schema ?? DEFAULT_SCHEMA;
    if ((await findNode(client, found)) !== undefined)
      throw new PlacementProblem(`The schema ${found} is already distributed.`);
    const schema = found === DEFAULT_SCHEMA ? SCHEMA_OF_PLACEMENT : found;
    if (found !== schema) await requireMovableSchema(client, schema);
    await requireNoService(client);
    await requireLogins(client);
    await inTransaction(client, async () => {
      if (found !== schema) await moveOutOfPublic(client, schema);
      await prepare(client, schema);
      await client.query('select identify_rows()');
      await withoutTriggers(client, () => client.query('select citus_schema_distribute($1)', [schema]));
      for (const call of await functionsOf(client))
        await client.query('select create_distributed_function($1)', [call]);
      // A service that starts in the meantime would not treat the ledger as a placement.
      await requireNoService(client);
    });
    const node = await findNode(client, schema);
    if (node === undefined) throw new Error('Citus distributed the schema but reports no node for it');
    return { schema, node, workers: await readWorkers(client) };
  });
}

/**
 * Moves a placement to another node while the service runs. Writes wait until the move has ended, for about a second, and then go
 * to the new node. Throws like {@link distribute}.
 */
export function movePlacement(settings: ConnectionSettings, to: Node): Promise<LocatedLedger> {
  return administer(settings, async (client) => {
    await requireCluster(client);
    const schema = settings.schema ?? DEFAULT_SCHEMA;
    const from = await findNode(client, schema);
    if (from === undefined) throw new PlacementProblem(`The schema ${schema} is not distributed.`);
    const workers = await readWorkers(client);
    const isTo = ({ host, port }: Node): boolean => host === to.host && port === to.port;
    if (isTo(from))
      throw new PlacementProblem(`The tables of the schema ${schema} are already on ${to.host}:${to.port}.`);
    if (!workers.some(isTo)) {
      const known = workers.map(({ host, port }) => `${host}:${port}`).join(', ');
      throw new PlacementProblem(`The Citus cluster has no worker ${to.host}:${to.port}. Its workers are ${known}.`);
    }
    // Limits the wait for partitions that were just created. Transfers queue behind a request for a table's lock.
    await client.query(`set statement_timeout = ${LOCK_MILLISECONDS}`);
    await inTries(() => client.query(`select ${pg.escapeIdentifier(schema)}.identify_rows()`));
    await client.query('set statement_timeout = 0');
    const values = [schema, to.host, to.port];
    await inTries(() => client.query("select citus_schema_move($1, $2, $3, 'force_logical')", values));
    return { schema, node: to, workers };
  });
}

/**
 * Moves a placement back to the coordinator, as tables of plain PostgreSQL. The service must be stopped. Throws like {@link
 * distribute}.
 */
export function undistribute(settings: ConnectionSettings): Promise<LocatedLedger> {
  return administer(settings, async (client) => {
    await requireCluster(client);
    const schema = settings.schema ?? DEFAULT_SCHEMA;
    if ((await findNode(client, schema)) === undefined)
      throw new PlacementProblem(`The schema ${schema} is not distributed.`);
    await requireNoService(client);
    await inTransaction(client, async () => {
      await withoutTriggers(client, () => client.query('select citus_schema_undistribute($1)', [schema]));
      await restore(client);
      await requireNoService(client);
    });
    return { schema, node: await readCoordinator(client), workers: [] };
  });
}

async function inTransaction(client: pg.ClientBase, work: () => Promise<void>): Promise<void> {
  // Citus needs these settings to run the statements for many tables one after the other, and to keep triggers.
  await client.query(`begin; set local citus.multi_shard_modify_mode = 'sequential';
    set local citus.enable_unsafe_triggers = on`);
  try {
    await work();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/**
 * Runs a copy without triggers, because Citus copies rows with INSERT. For example, the audit log's trigger would add each row to
 * the hash chain again.
 */
async function withoutTriggers(client: pg.ClientBase, copy: () => Promise<unknown>): Promise<void> {
  const { rows } = await client.query<{ name: string; table: string; definition: string }>(
    `select quote_ident(tgname) as name, tgrelid::regclass::text as table, pg_get_triggerdef(pg_trigger.oid) as definition
      from pg_trigger join pg_class on pg_class.oid = tgrelid
      where relnamespace = current_schema()::regnamespace and not tgisinternal and tgparentid = 0`,
  );
  for (const { name, table } of rows) await client.query(`drop trigger ${name} on ${table}`);
  await copy();
  for (const { definition } of rows) await client.query(definition);
}

/** Repeats work that other sessions can block for a moment, for example by reading the old copy from an earlier move. */
async function inTries(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await work();
      return;
    } catch (error) {
      const isLocked = [LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED, QUERY_CANCELED].includes(codeOf(error) ?? '');
      const isLeft = error instanceof pg.DatabaseError && error.message.includes(LEFT_FROM_EARLIER);
      if (!(isLocked || isLeft) || attempt === MAX_TRIES) throw error;
      await sleep(PAUSE_MILLISECONDS);
    }
  }
}

async function requireCluster(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ version: string; major: number }>(
    `select extversion as version, split_part(extversion, '.', 1)::int as major from pg_extension where extname = 'citus'`,
  );
  const [citus] = rows;
  if (citus === undefined)
    throw new PlacementProblem(
      'This database has no Citus: a ledger is distributed from the coordinator of a Citus cluster.',
    );
  if (citus.major < OLDEST_CITUS)
    throw new PlacementProblem(`This is Citus ${citus.version}, and a ledger needs Citus ${OLDEST_CITUS} or later.`);
  const { rows: counted } = await client.query<{ local: boolean; workers: bigint }>(
    `select groupid = 0 as local, (select count(*) from pg_dist_node where groupid <> 0 and shouldhaveshards) as workers
      from pg_dist_local_group`,
  );
  if (counted[0]?.local !== true)
    throw new PlacementProblem(
      'This is not the coordinator of the Citus cluster: set DATABASE_URL to it for this command.',
    );
  if (counted[0].workers === 0n)
    throw new PlacementProblem('The Citus cluster has no worker: add one on the coordinator with citus_add_node.');
}

/** Checks that no service is connected to any node. Connections that were just closed remain visible for a moment. */
async function requireNoService(client: pg.ClientBase): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { rows } = await client.query<{ count: bigint; areReached: boolean }>(
      `select sum(case when success then result::bigint end)::bigint as count, bool_and(success) as "areReached"
        from run_command_on_all_nodes($$select count(*) from pg_stat_activity
          where datname = current_database() and application_name = 'transfer-service'$$)`,
    );
    const { count = 0n, areReached } = rows[0] ?? {};
    if (areReached !== true) throw new PlacementProblem('A node of the Citus cluster does not respond.');
    if (count === 0n) return;
    if (attempt === MAX_LOOKS)
      throw new PlacementProblem(
        `A service has ${count} connections to this database: stop it, and run the command again.`,
      );
    await sleep(PAUSE_MILLISECONDS);
  }
}

/** Checks that the schema can be renamed, because the new name affects everything in it. */
async function requireMovableSchema(client: pg.ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query<{ taken: boolean; extensions: string | null }>(
    `select to_regnamespace(quote_ident($1)) is not null as taken,
      (select string_agg(extname, ', ' order by extname) from pg_extension where extnamespace = 'public'::regnamespace)
        as extensions`,
    [schema],
  );
  const { taken, extensions = null } = rows[0] ?? {};
  if (taken === true)
    throw new PlacementProblem(`Citus does not distribute public, and the schema ${schema} already exists.`);
  if (extensions === null) return;
  throw new PlacementProblem(
    `Citus does not distribute public, which would be renamed with its extensions: ${extensions}. ` +
      'Move each with ALTER EXTENSION ... SET SCHEMA.',
  );
}

/**
 * Checks that the roles of the service may log in: Citus connects from node to node as the role of a session, and runs statements
 * of functions on other nodes as this role, too.
 */
async function requireLogins(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `select format('ALTER ROLE %I LOGIN; ALTER ROLE %1$I SET citus.allow_nested_distributed_execution = on;', rolname)
        as statement
      from pg_roles
      where rolname = any ('{transfer_service_application, transfer_service_background, transfer_service_authentication}')
        and not (rolcanlogin and coalesce(rolconfig::text ~ 'citus.allow_nested_distributed_execution=on', false))
      order by rolname`,
  );
  if (rows.length === 0) return;
  const statements = rows.map(({ statement }) => statement).join(' ');
  throw new PlacementProblem(
    `Citus connects from node to node as the roles of the service. As a superuser: ${statements}`,
  );
}

/** Returns the node that has the tables of a schema. Undefined if the schema is not distributed. */
async function findNode(client: pg.ClientBase, schema: string): Promise<Node | undefined> {
  const { rows } = await client.query<Node>(
    `select nodename as host, nodeport as port from citus_shards
      where table_name = to_regclass(format('%I.write_batch', $1::text))`,
    [schema],
  );
  return rows[0];
}

async function readWorkers(client: pg.ClientBase): Promise<readonly Node[]> {
  const { rows } = await client.query<Node>(
    `select nodename as host, nodeport as port from pg_dist_node
      where groupid <> 0 and shouldhaveshards and isactive and noderole = 'primary' order by 1, 2`,
  );
  return rows;
}

async function readCoordinator(client: pg.ClientBase): Promise<Node> {
  const { rows } = await client.query<Node>(
    'select nodename as host, nodeport as port from pg_dist_node where groupid = 0',
  );
  return rows[0] ?? { host: 'localhost', port: 5432 };
}

async function functionsOf(client: pg.ClientBase): Promise<readonly string[]> {
  const { rows } = await client.query<{ call: string }>(
    'select oid::regprocedure::text as call from pg_proc where pronamespace = current_schema()::regnamespace order by 1',
  );
  return rows.map(({ call }) => call);
}

/** Renames `public`, and replaces its name in functions that set their search path. */
async function moveOutOfPublic(client: pg.ClientBase, schema: string): Promise<void> {
  const name = pg.escapeIdentifier(schema);
  await client.query(
    `alter schema public rename to ${name}; create schema public; grant usage on schema public to public;
    set local search_path = ${name}, pg_temp`,
  );
  await client.query(`do $$ declare call regprocedure; begin
    for call in select oid from pg_proc, unnest(proconfig) as set
        where pronamespace = current_schema()::regnamespace and set like 'search_path=%' loop
      execute format('alter function %s set search_path to %I, pg_temp', call, current_schema());
    end loop;
  end $$`);
}

/** Replaces the parts of the schema that work on plain PostgreSQL but not on Citus. */
async function prepare(client: pg.ClientBase, schema: string): Promise<void> {
  // Citus refuses a policy with a subquery. Without the subquery, the setting is read for each row instead of once for each
  // statement.
  await rewritePolicies(
    client,
    'ANY \\(\\( *SELECT [^ ()]*own_programs\\(\\) AS own_programs\\)::uuid\\[\\]\\)',
    'ANY (own_programs())',
  );
  // Citus refuses a volatile function in a condition.
  await client.query('alter function service_now() stable');
  // A move applies changes as a role that is a member of the owner, so policies must hide nothing from this role. The sessions of
  // the service act as other roles, so card programs remain separated.
  await client.query(`do $$ declare name regclass; begin
    for name in select oid from pg_class where relnamespace = current_schema()::regnamespace and relforcerowsecurity loop
      execute format('alter table %s no force row level security', name);
    end loop;
  end $$`);
  const path = `set search_path to ${pg.escapeIdentifier(schema)}, pg_catalog, pg_temp`;
  // A move identifies a changed row by its key. A table or a new partition without a key uses the whole row.
  await client.query(`create function identify_rows() returns void language plpgsql security definer
    set lock_timeout to '100ms' ${path} as $$ declare name regclass; begin
    for name in
      select oid from pg_class
      where relnamespace = (select relnamespace from pg_class where oid = 'write_batch'::regclass)
        and relkind in ('r', 'p') and relreplident <> 'f'
        and not exists (select from pg_index where indrelid = pg_class.oid and indisprimary)
    loop
      execute format('alter table %s replica identity full', name);
    end loop;
  end $$`);
  await client.query(`revoke all on function identify_rows() from public;
    grant execute on function identify_rows() to transfer_service_background`);
  const refuse = `raise exception 'the tables of this ledger are on another node' using errcode = 'read_only_sql_transaction'`;
  await client.query(`create function require_place() returns void language plpgsql ${path} as $$ begin
    if not exists (
      select from pg_dist_placement join pg_dist_shard using (shardid)
      where logicalrelid = 'write_batch'::regclass and groupid = (select groupid from pg_dist_local_group)
    ) then
      ${refuse};
    end if;
  end $$`);
  // Citus forwards statements without settings, so on other nodes the policies would hide every row.
  await client.query(`create or replace function own_programs() returns uuid[] language plpgsql stable as $$
    declare programs constant text := current_setting('service.programs', true);
    begin
      if coalesce(programs, '') = '' then
        ${refuse};
      end if;
      return programs::uuid[];
    end $$`);
}

/** Undoes {@link prepare}: everything has its form in the migrations again. */
async function restore(client: pg.ClientBase): Promise<void> {
  await client.query(`drop function require_place(); drop function identify_rows();
    create or replace function own_programs() returns uuid[] language sql stable as $$
      select coalesce(nullif(current_setting('service.programs', true), ''), '{}')::uuid[]
    $$;
    alter function service_now() volatile`);
  await rewritePolicies(client, 'ANY \\([^ ()]*own_programs\\(\\)\\)', 'ANY ((SELECT own_programs())::uuid[])');
  await client.query(`do $$ declare name regclass; begin
    for name in select oid from pg_class where relnamespace = current_schema()::regnamespace and relrowsecurity loop
      execute format('alter table %s force row level security', name);
    end loop;
  end $$`);
}

/** In all policies, replaces the part that matches a pattern. */
async function rewritePolicies(client: pg.ClientBase, pattern: string, part: string): Promise<void> {
  await client.query(`do $$ declare found record; begin
    for found in
      select tablename, policyname, regexp_replace(qual, pattern, '${part}', 'g') as seen,
        regexp_replace(with_check, pattern, '${part}', 'g') as written
      from pg_policies, (values ('${pattern}')) as wanted (pattern)
      where schemaname = current_schema() and (qual ~ pattern or with_check ~ pattern)
    loop
      execute format('alter policy %I on %I %s %s', found.policyname, found.tablename,
        'using (' || found.seen || ')', 'with check (' || found.written || ')');
    end loop;
  end $$`);
}
