import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBinaries } from '../../server/postgres/binaries.ts';
import { chooseServerUser } from '../../server/postgres/ledger-location.ts';
import { connect } from '../harness/ledger.ts';
import { type PoolerMode, startPooler } from '../harness/pooler.ts';
import type { StockPostgres } from '../harness/postgres/postgres-server.ts';
import { stockPostgresIn } from '../harness/postgres/stock-postgres.ts';
import { runCommand, startInVain, startService } from '../harness/process.ts';
import { useDirectory } from '../harness/service.ts';

// Tests an operator's own PostgreSQL that can lose data or is behind a pooler.

const directory = await useDirectory();
const copies = await useDirectory();
let server: StockPostgres;
let superuser: pg.Client;

beforeAll(async () => {
  // Starts the embedded binaries like an operator's server, with settings that the test can change.
  const binaries = await findBinaries(
    await chooseServerUser(),
    async () => copies.path,
    () => undefined,
  );
  server = await stockPostgresIn(directory.path, binaries.postgres.replace(/\/postgres$/, ''));
  superuser = await connect({ ...server.connection, user: 'postgres', database: 'postgres' });
  await superuser.query('create database live owner transfer_service');
});
afterAll(async () => {
  await superuser?.end();
});

function settingsOf(database: string, MODE: 'sandbox' | 'live', host = server.connection.host) {
  const DATABASE_URL = `postgresql://transfer_service@/${database}?host=${encodeURIComponent(host)}&port=5432`;
  return { MODE, DATABASE_URL, DATA_DIR: `${directory.path}/data-${database}`, SUPPORT_CONTACT: 'help@bank.test' };
}

/** Changes settings and reloads them. Only new connections get the changed settings. */
async function change(...statements: readonly string[]): Promise<void> {
  for (const statement of statements) await superuser.query(statement);
  await superuser.query('select pg_reload_conf()');
}

async function waitForSetting(name: string, value: string): Promise<void> {
  for (;;) {
    const { rows } = await superuser.query<{ value: string }>('select current_setting($1) as value', [name]);
    if (rows[0]?.value === value) return;
    await new Promise((wake) => setTimeout(wake, 20));
  }
}

describe('a server that can lose commits in a crash', () => {
  test.each(['fsync', 'full_page_writes'])('refuses %s = off in live mode, and names the remedy', async (name) => {
    const live = settingsOf('live', 'live');
    expect((await runCommand(['migrate'], live)).exitCode).toBe(0);
    await change(`alter system set ${name} = off`);
    await waitForSetting(name, 'off');
    try {
      const { exitCode, errors } = await startInVain(live);
      expect({ exitCode, errors }).toMatchObject({
        exitCode: 1,
        errors: expect.stringContaining(`${name} = off, so a`),
      });
      expect(errors).toMatch(
        /^\nThe service cannot start: The PostgreSQL server runs with [^\n]+\nRunbook: docs\/runbook\/durability-off\.md\n$/,
      );
      expect(errors).toContain(`ALTER SYSTEM SET ${name} = on; SELECT pg_reload_conf();`);
      const sandbox = await startService(settingsOf('transfer_service', 'sandbox'));
      expect(await sandbox.stop()).toBe(0);
    } finally {
      await change(`alter system reset ${name}`);
      await waitForSetting(name, 'on');
    }
    expect((await startInVain(live)).errors).toContain('operator-key create');
  });
});

describe('a user without permission to change settings', () => {
  test('is refused if triggers are off', async () => {
    await superuser.query('alter role transfer_service set session_replication_role = replica');
    try {
      const { exitCode, errors } = await startInVain(settingsOf('transfer_service', 'sandbox'));
      expect(exitCode).toBe(1);
      expect(errors).toMatch(
        /^\nThe service cannot start: The user transfer_service has session_rep[^\n]+\nRunbook: docs\/runbook\/database-user-settings\.md\n$/,
      );
      expect(errors).toContain('ALTER ROLE "transfer_service" RESET session_replication_role;');
    } finally {
      await superuser.query('alter role transfer_service reset session_replication_role');
    }
  });

  test('is refused if its messages are translated', async () => {
    const { exitCode, errors } = await startBehind('translating');
    expect({ exitCode, errors }).toMatchObject({ exitCode: 1, errors: expect.stringContaining('other than English') });
    expect(errors).toContain(`ALTER ROLE "transfer_service" SET lc_messages = 'C';`);
  });
});

async function startBehind(mode: PoolerMode): Promise<Awaited<ReturnType<typeof startInVain>>> {
  const pooler = await startPooler(server.connection.host, mode);
  try {
    return await startInVain(settingsOf('transfer_service', 'sandbox', pooler.host));
  } finally {
    await pooler.close();
  }
}

describe('a connection pooler in front of the server', () => {
  test('is refused if it shares sessions between transactions, and the error names the alternative', async () => {
    const { exitCode, errors } = await startBehind('transaction');
    expect(exitCode).toBe(1);
    expect(errors).toMatch(
      /^\nThe service cannot start: DATABASE_URL connects to a pooler [^\n]+\nRunbook: docs\/runbook\/pooled-connection\.md\n$/,
    );
    expect(errors).toContain(
      'Use session pooling (pool_mode = session in PgBouncer), or connect to PostgreSQL directly.',
    );
    expect(errors).not.toContain('GRANT');
  });

  test('is refused if it refuses startup options, and the error names the setting and the alternative', async () => {
    const { exitCode, errors } = await startBehind('refusing');
    expect(exitCode).toBe(1);
    expect(errors).toMatch(
      /^\nThe service cannot start: The connection pooler of DATABASE_URL refuses [^\n]+\nRunbook: docs\/runbook\/pooled-connection\.md\n$/,
    );
    expect(errors).toContain('ignore_startup_parameters = options');
    expect(errors).toContain('Use session pooling');
    expect(errors).not.toContain('GRANT');
  });

  test('is accepted if it keeps sessions, even if it drops startup options', async () => {
    const pooler = await startPooler(server.connection.host, 'session');
    try {
      const service = await startService(settingsOf('transfer_service', 'sandbox', pooler.host));
      try {
        expect((await service.client.transfers.create({ amount: 5, card_id: 'card_active' })).status).toBe('completed');
      } finally {
        expect(await service.stop()).toBe(0);
      }
    } finally {
      await pooler.close();
    }
  });
});
