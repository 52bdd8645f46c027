import { beforeAll, expect, test } from 'vitest';
import { connect } from '../harness/ledger.ts';
import { runCommand, startInVain, startService } from '../harness/process.ts';
import { usePostgres } from '../harness/use-ledger.ts';

// Tests that a ledger permanently belongs to either a sandbox or a live service, so money in a sandbox never counts as
// real.

const { directory, embedded, urlOf } = await usePostgres();

beforeAll(async () => {
  await run('postgres', 'create database played', 'create database earnest');
});

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

function settingsOf(database: string, MODE: 'sandbox' | 'live') {
  return {
    MODE,
    DATABASE_URL: urlOf('postgres', database),
    DATA_DIR: `${directory}/${database}`,
    SUPPORT_CONTACT: 'help@bank.test',
  };
}

const OF_A_SANDBOX = /This is a sandbox ledger: .* For live mode, set DATABASE_URL or DATA_DIR/;
const LIVE = /This is a live ledger, but the mode is sandbox, .* Set MODE=live/;

test('a sandbox ledger is refused in live mode, and no operator key can be created for it', async () => {
  const sandbox = await startService(settingsOf('played', 'sandbox'));
  await sandbox.stop();
  const live = settingsOf('played', 'live');
  expect(await startInVain(live)).toMatchObject({ exitCode: 1, errors: expect.stringMatching(OF_A_SANDBOX) });
  const key = await runCommand(['operator-key', 'create', '--name', 'first'], live);
  expect(key).toMatchObject({ exitCode: 1, output: '', errors: expect.stringMatching(OF_A_SANDBOX) });
  const again = await startService(settingsOf('played', 'sandbox'));
  await again.stop();
});

test('a sandbox ledger without a stored mode is recognized by its demo program', async () => {
  await run('played', 'drop table ledger_mode', "delete from schema_migration where name like '0007%'");
  const live = settingsOf('played', 'live');
  const migrated = await runCommand(['migrate'], live);
  expect(migrated).toMatchObject({ exitCode: 0, output: expect.stringContaining('0007') });
  expect(await startInVain(live)).toMatchObject({ exitCode: 1, errors: expect.stringMatching(OF_A_SANDBOX) });
});

test('without MODE=live, a service refuses to open, migrate or seed a live ledger', async () => {
  const live = settingsOf('earnest', 'live');
  expect(await runCommand(['migrate'], live)).toMatchObject({ exitCode: 0 });
  expect(await runCommand(['operator-key', 'create', '--name', 'first'], live)).toMatchObject({ exitCode: 0 });
  const service = await startService(live);
  await service.stop();
  // Makes the ledger look as it does before an upgrade to the next version.
  await run('earnest', "delete from schema_migration where name like '0006%'");
  const forgetful = { ...settingsOf('earnest', 'sandbox'), MODE: '' };
  expect(await startInVain(forgetful)).toMatchObject({ exitCode: 1, errors: expect.stringMatching(LIVE) });
  expect(await runCommand(['migrate'], forgetful)).toMatchObject({
    exitCode: 1,
    errors: expect.stringMatching(LIVE),
  });
  expect(await run('earnest', "select 1 from schema_migration where name like '0006%'")).toEqual([]);
  expect(await run('earnest', 'select 1 from program')).toEqual([]);
  expect(await run('earnest', 'select mode from ledger_mode')).toEqual([{ mode: 'live' }]);
});
