import { spawn } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { migrate } from '../../server/store/migrations/migrate.ts';
import { runToEnd, waitFor } from '../harness/process.ts';
import { useDirectory } from '../harness/service.ts';
import { useConnection, useServer } from '../harness/use-ledger.ts';
import { useNextVersion } from './next-version.ts';
import { PLANTED_MIGRATIONS, withPlanted } from './planted.ts';

// Tests a migration outside a transaction: building an index while others write, and interruptions of the build.

const server = await useServer();
const client = await useConnection(server.connection);
/** A connection that writes to the table. This delays the end of the build, but not its start. */
const writer = await useConnection(server.connection);
const { path } = await useDirectory();
const settings = { DATABASE_URL: server.embedded.url, DATA_DIR: path };
const { index } = PLANTED_MIGRATIONS;
const next = await useNextVersion(index);

afterEach(async () => {
  await writer.query('rollback');
  await client.query("drop index if exists planted_index; delete from schema_migration where name ~ '^9'");
});

const findIndex = async (): Promise<{ readonly valid: boolean; readonly oid: number } | undefined> =>
  (
    await client.query(
      "select indisvalid as valid, indexrelid as oid from pg_index where indexrelid = to_regclass('planted_index')",
    )
  ).rows[0];
const isNoted = async (): Promise<boolean> =>
  (await client.query('select from schema_migration where name = $1', [index.name])).rowCount === 1;
/** Returns the connections that are building the index. */
const builders = async (): Promise<readonly number[]> => {
  const { rows } = await client.query<{ pid: number }>(
    "select pid from pg_stat_activity where query like 'create index concurrently%'",
  );
  return rows.map(({ pid }) => pid);
};

/** Starts `migrate` of the next version as a process, and waits until it builds the index. */
async function startBuilding() {
  await writer.query('begin; lock table card in row exclusive mode');
  const child = spawn(process.execPath, [next.administration, 'migrate'], {
    env: { PATH: process.env.PATH, ...settings },
    stdio: 'ignore',
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  await waitFor(
    'the build to begin',
    async () => (await findIndex())?.valid === false && (await builders()).length === 1,
  );
  return { child, ended };
}

async function expectRebuilt(): Promise<void> {
  expect(await findIndex()).toMatchObject({ valid: false });
  expect(await isNoted()).toBe(false);
  await writer.query('rollback');
  const again = await next.migrate(settings);
  expect(again).toMatchObject({
    exitCode: 0,
    output: expect.stringContaining(`Applied ${index.name} in `),
    errors: expect.stringContaining('The index planted_index was not completed by an earlier attempt'),
  });
  expect(await findIndex()).toMatchObject({ valid: true });
  expect(await isNoted()).toBe(true);
}

test('if migrate is killed while it builds an index, PostgreSQL stops, and the next migrate builds the index again', async () => {
  const { child, ended } = await startBuilding();
  child.kill('SIGKILL');
  await ended;
  await waitFor('PostgreSQL to end the build', async () => (await builders()).length === 0);
  await expectRebuilt();
});

test('if the server ends the build, migrate fails, commands report an old schema, and the next migrate builds the index again', async () => {
  const { ended } = await startBuilding();
  const [pid] = await builders();
  await client.query('select pg_terminate_backend($1)', [pid]);
  expect(await ended).toBe(1);
  // This version has the migration, so it reports that the schema is behind, not that the unfinished index is foreign.
  const checked = await runToEnd([next.administration, 'verify-books'], settings);
  expect(checked).toMatchObject({ exitCode: 1, errors: expect.stringContaining('schema-behind') });
  await expectRebuilt();
});

test('a completed build that was not recorded is kept', async () => {
  await client.query('create index planted_index on card (created_at)');
  const before = await findIndex();
  await migrate(server.connection, { migrations: await withPlanted(index) });
  expect(await findIndex()).toEqual(before);
  expect(await isNoted()).toBe(true);
});

test('two processes that migrate at once do not deadlock', async () => {
  const migrations = await withPlanted(index);
  await writer.query('begin; lock table card in row exclusive mode');
  const both = Promise.all([1, 2].map(() => migrate(server.connection, { migrations })));
  await waitFor('one of them to build', async () => (await builders()).length === 1);
  await writer.query('rollback');
  expect((await both).flat()).toEqual([index.name]);
  expect(await findIndex()).toMatchObject({ valid: true });
});
