import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { connect } from '../../harness/ledger.ts';
import { ledgerDirectory } from '../../harness/ledger-directory.ts';
import { runCommand, startService, waitFor } from '../../harness/process.ts';
import { usePostgres } from '../../harness/use-ledger.ts';

// Tests that one command deletes a sandbox, and that nothing deletes a live ledger.

const { directory, embedded, urlOf } = await usePostgres();

const DATABASES = ['trial', 'earnest', 'fresh', 'needed', 'busy'] as const;

beforeAll(() => run('postgres', ...DATABASES.map((name) => `create database ${name}`)));

async function run(database: string, ...statements: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  const client = await connect({ ...embedded.connection, user: 'postgres', database });
  try {
    let rows: readonly Record<string, unknown>[] = [];
    for (const statement of statements) ({ rows } = await client.query(statement));
    return rows;
  } finally {
    await client.end();
  }
}

function settingsOf(database: (typeof DATABASES)[number], MODE: 'sandbox' | 'live' = 'sandbox') {
  return {
    MODE,
    DATABASE_URL: urlOf('postgres', database),
    DATA_DIR: `${directory}/${database}`,
    SUPPORT_CONTACT: 'help@bank.test',
  };
}

const reset = (settings: Readonly<Record<string, string>>) => runCommand(['sandbox', 'reset', '--yes'], settings);

/** Finds everything in the schema except objects that belong to a table. */
const OBJECTS = `
  select relkind::text || ' ' || relname as object from pg_class where relnamespace = 'public'::regnamespace
  union all select 'function ' || proname from pg_proc where pronamespace = 'public'::regnamespace
  union all select 'type ' || typname from pg_type
    where typnamespace = 'public'::regnamespace and typrelid = 0 and typelem = 0
  order by 1`;

const objectsOf = async (database: string) => (await run(database, OBJECTS)).map(({ object }) => object);

test('a reset removes only what the service created in its schema, and the next start creates it again', async () => {
  await run(
    'trial',
    'create table mine (id int)',
    "create function mine_too() returns int language sql as 'select 1'",
    "create type mood as enum ('fine')",
  );
  const before = await objectsOf('trial');
  const service = await startService(settingsOf('trial'));
  await service.client.transfers.create({ card_id: 'card_active', amount: 1000 });
  await service.stop();
  expect(await reset(settingsOf('trial'))).toMatchObject({
    exitCode: 0,
    output: expect.stringMatching(
      /^Removed the sandbox ledger in .*, with 13 cards and \d+ transfers\.\nThe next start/,
    ),
  });
  expect(await objectsOf('trial')).toEqual(before);
  expect(await reset(settingsOf('trial'))).toMatchObject({
    exitCode: 0,
    output: expect.stringContaining('There is no ledger'),
  });
  const again = await startService(settingsOf('trial'));
  expect((await again.client.cards.get('card_active')).balance).toBe(25_000);
  await again.stop();
});

test('a reset never deletes a live ledger, whether it runs with live or sandbox settings', async () => {
  const live = settingsOf('earnest', 'live');
  expect(await runCommand(['migrate'], live)).toMatchObject({ exitCode: 0 });
  expect(await runCommand(['operator-key', 'create', '--name', 'first'], live)).toMatchObject({ exitCode: 0 });
  // A ledger becomes live at its first start. Until then, its mode is unknown.
  const unknown = await reset(settingsOf('earnest'));
  expect(unknown).toMatchObject({ exitCode: 1, errors: expect.stringContaining('Cannot tell whether') });
  const service = await startService(live);
  await service.stop();
  const before = await objectsOf('earnest');
  expect(await reset(live)).toMatchObject({ exitCode: 1, errors: expect.stringContaining('MODE is live.') });
  expect(await reset(settingsOf('earnest'))).toMatchObject({
    exitCode: 1,
    errors: expect.stringContaining('This is a live ledger. Only a sandbox can be reset. Nothing was removed.'),
  });
  expect(await objectsOf('earnest')).toEqual(before);
  expect(await run('earnest', 'select count(*)::int4 from api_key')).toEqual([{ count: 1 }]);
});

test('a reset is refused while a service is running in this data directory or with this database', async () => {
  const settings = settingsOf('busy');
  const service = await startService(settings);
  const here = await reset(settings);
  expect(here).toMatchObject({ exitCode: 1, errors: expect.stringContaining(`process ${service.child.pid} on `) });
  const elsewhere = await reset({ ...settings, DATA_DIR: `${directory}/another` });
  expect(elsewhere).toMatchObject({
    exitCode: 1,
    errors: expect.stringContaining('A service is connected to this ledger. Stop it first'),
  });
  expect((await service.client.cards.get('card_active')).balance).toBe(25_000);
  await service.stop();
});

test('a reset removes nothing while other objects depend on the tables', async () => {
  const settings = settingsOf('needed');
  await (await startService(settings)).stop();
  await run('needed', 'create view my_report as select card_id from card');
  const before = await objectsOf('needed');
  expect(await reset(settings)).toMatchObject({ exitCode: 1, errors: expect.stringContaining('my_report') });
  expect(await objectsOf('needed')).toEqual(before);
});

test('a reset removes the embedded ledger of a data directory', async () => {
  const { path, remove } = await ledgerDirectory();
  try {
    const settings = { DATA_DIR: path };
    const service = await startService(settings);
    await service.client.cards.create({ card_id: 'mine' });
    await service.client.transfers.create({ card_id: 'card_processor', amount: 1000 });
    const book = () => readFile(join(path, 'simulator', 'book.jsonl'), 'utf8').catch(() => '');
    await waitFor('the book of the simulator', async () => (await book()) !== '');
    expect(await reset(settings)).toMatchObject({ exitCode: 1, errors: expect.stringContaining('Stop it first') });
    await service.stop();
    expect(await runCommand(['sandbox', 'reset'], settings)).toMatchObject({
      exitCode: 2,
      errors: expect.stringContaining('add --yes'),
    });
    expect(await reset(settings)).toMatchObject({ exitCode: 0, output: expect.stringContaining('with 14 cards') });
    expect(await readdir(join(path, 'error-spool')).catch(() => [])).toEqual([]);
    expect(await readdir(join(path, 'simulator')).catch(() => [])).toEqual([]);
    const again = await startService(settings);
    expect((await again.client.cards.list({ limit: 100 })).data).toHaveLength(13);
    await again.stop();
    expect(await reset({ DATA_DIR: join(path, 'nothing') })).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('ledger-missing'),
    });
  } finally {
    await remove();
  }
});
