import { beforeAll, describe, expect, test } from 'vitest';
import { openDatabases } from '../../server/store/connection/databases.ts';
import { callEveryOperation } from '../harness/every-operation.ts';
import { connect, UNHURRIED } from '../harness/ledger.ts';
import { startService, temporaryDirectory } from '../harness/process.ts';
import { useConnection, useServer } from '../harness/use-ledger.ts';

// Tests a role and a database whose session settings differ from those of a new PostgreSQL.

/** Settings for which the service needs different values. An ordinary user may set all of them. */
const HOSTILE: Readonly<Record<string, string>> = {
  DateStyle: 'German',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kolkata',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  standard_conforming_strings: 'off',
  escape_string_warning: 'off',
  backslash_quote: 'on',
  array_nulls: 'off',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
  xmloption: 'document',
  client_encoding: 'LATIN1',
  search_path: 'nowhere',
  row_security: 'off',
  default_transaction_isolation: 'serializable',
  default_transaction_read_only: 'on',
  default_transaction_deferrable: 'on',
  client_min_messages: 'error',
  synchronous_commit: 'off',
  jit: 'on',
  jit_above_cost: '0',
  jit_inline_above_cost: '0',
  jit_optimize_above_cost: '0',
  statement_timeout: '1',
  lock_timeout: '1',
  idle_in_transaction_session_timeout: '1',
  idle_session_timeout: '1',
  client_connection_check_interval: '0',
  plan_cache_mode: 'force_custom_plan',
  enable_seqscan: 'off',
  enable_indexscan: 'off',
  enable_indexonlyscan: 'off',
  enable_bitmapscan: 'off',
  enable_nestloop: 'off',
  enable_sort: 'off',
  from_collapse_limit: '1',
  join_collapse_limit: '1',
  work_mem: '64kB',
  lc_time: 'C',
  lc_numeric: 'C',
  timezone_abbreviations: 'India',
  default_text_search_config: 'pg_catalog.german',
  check_function_bodies: 'off',
};

const server = await useServer();
const superuser = await useConnection({ ...server.connection, user: 'postgres', database: 'postgres' });

beforeAll(async () => {
  for (const owner of ['plain', 'hostile', 'lax']) {
    await superuser.query(`create role ${owner} login in role transfer_service_application, transfer_service_background,
      transfer_service_authentication`);
    await makeDatabaseOf(owner);
  }
});

/** Creates an empty database for the role, after dropping the previous one together with its settings. */
async function makeDatabaseOf(owner: string): Promise<void> {
  await superuser.query(`drop database if exists ${owner}`);
  await superuser.query(`create database ${owner} owner ${owner}`);
  if (owner !== 'hostile') return;
  const { rows } = await superuser.query("select from pg_settings where name = 'transaction_timeout'");
  const settings = { ...HOSTILE, ...(rows.length === 0 ? {} : { transaction_timeout: '2s' }) };
  for (const [name, value] of Object.entries(settings)) {
    // Either the role or the database has a setting, because the role's would override the database's.
    const target = Object.keys(settings).indexOf(name) % 2 === 0 ? 'role hostile' : 'database hostile';
    await superuser.query(`alter ${target} set ${name} = ${superuser.escapeLiteral(value)}`);
  }
}

const connectionOf = (owner: string) => ({ ...server.connection, user: owner, database: owner });

async function callAllOn(owner: string): Promise<Awaited<ReturnType<typeof callEveryOperation>>> {
  const directory = await temporaryDirectory();
  const { host, port } = server.connection;
  const DATABASE_URL = `postgresql://${owner}@/${owner}?host=${encodeURIComponent(host)}&port=${port}`;
  const service = await startService({ DATABASE_URL, DATA_DIR: directory.path });
  try {
    return await callEveryOperation(service.client);
  } finally {
    await service.stop();
    await directory.remove();
  }
}

const currentHour = () => Math.floor(Date.now() / 3_600_000);

/**
 * Returns the results of the calls on both databases. Limit periods and figures begin with an hour, so all calls run in
 * the same hour.
 */
async function callAllInOneHour() {
  for (;;) {
    const hour = currentHour();
    const called = { plain: await callAllOn('plain'), hostile: await callAllOn('hostile') };
    if (currentHour() === hour) return called;
    for (const owner of ['plain', 'hostile']) await makeDatabaseOf(owner);
  }
}

test('responses are the same with any settings of the role and the database', async () => {
  const { plain, hostile } = await callAllInOneHour();
  // The comparison proves nothing if calls fail.
  const failed = plain.filter(({ result }) => (result as { Status?: number }).Status === 500);
  expect(failed).toEqual([]);
  expect(hostile).toEqual(plain);
});

test('a new connection of the role has the changed settings', async () => {
  const other = await connect({
    ...connectionOf('hostile'),
    options: '-c statement_timeout=0 -c idle_session_timeout=0',
  });
  const { rows } = await other.query("select current_setting('DateStyle') as dates, current_setting('jit') as jit");
  await other.end();
  expect(rows).toEqual([{ dates: 'German, DMY', jit: 'on' }]);
});

describe('synchronous_commit', () => {
  test.each([
    ['off', 'on'],
    ['local', 'on'],
    ['remote_write', 'on'],
    ['on', 'on'],
    ['remote_apply', 'remote_apply'],
  ])('is changed for a role from %s to %s', async (set, inForce) => {
    await superuser.query(`alter role lax set synchronous_commit = ${set}`);
    const databases = openDatabases(connectionOf('lax'), undefined, UNHURRIED);
    const ask = { name: 'ask', text: "select current_setting('synchronous_commit') as value", values: [] };
    try {
      expect(await databases.background.read(ask)).toEqual([{ value: inForce }]);
      const written = await databases.background.transact({
        batchId: '00000000-0000-7000-8000-000000000000',
        load: { ask },
        decide: (loaded) => ({ result: loaded.ask, writes: [] }),
      });
      expect(written).toEqual([{ value: inForce }]);
      const alone = await databases.background.alone(async (client) => (await client.query(ask.text)).rows);
      expect(alone).toEqual([{ value: inForce }]);
    } finally {
      await databases.close();
    }
  });
});
