import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfiguration } from '../../server/foundation/configuration/configuration.ts';
import { connect } from '../harness/ledger.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import {
  embeddedServerOf,
  runCommand,
  type ServiceProcess,
  startInVain,
  startService,
  temporaryDirectory,
  waitFor,
} from '../harness/process.ts';
import { sendRaw } from '../harness/raw-request.ts';

// Tests commands on the service's host. Without a ledger, they create nothing. They also work while the service is
// running.

const COMMANDS = [
  ['verify-books'],
  ['audit', 'verify'],
  ['operator-key', 'create', '--name', 'second'],
  ['approval-policy', 'remove'],
];

let directories: Awaited<ReturnType<typeof temporaryDirectory>>[] = [];
let service: ServiceProcess;
let DATA_DIR = '';

beforeAll(async () => {
  directories = await Promise.all([ledgerDirectory(), temporaryDirectory()]);
  DATA_DIR = directories[0]?.path ?? '';
  service = await startService({ DATA_DIR });
});
afterAll(async () => {
  await service?.stop();
  for (const { remove } of directories) await remove();
});

describe('without a ledger', () => {
  const live = { MODE: 'live', SUPPORT_CONTACT: 'help@bank.test' };

  test.each(COMMANDS)('%s creates nothing and names the directory and the setting', async (...command) => {
    const empty = directories[1]?.path ?? '';
    // Uses a relative path, as an operator would type it.
    const typed = relative(process.cwd(), join(empty, 'dta'));
    for (const mode of [{}, live]) {
      const { exitCode, output, errors } = await runCommand(command, { ...mode, DATA_DIR: typed });
      expect([exitCode, output]).toEqual([1, '']);
      expect(errors).toMatch(/^[^\n]+\nRunbook: docs\/runbook\/ledger-missing\.md\n$/);
      expect(errors).toContain(`There is no ledger in ${join(empty, 'dta')} (DATA_DIR is '${typed}')`);
    }
    expect(await readdir(empty)).toEqual([]);
  });

  test('a live service creates nothing and refers to migrate', async () => {
    const empty = directories[1]?.path ?? '';
    const { exitCode, errors } = await startInVain({ ...live, DATA_DIR: join(empty, 'dta') });
    expect(exitCode).toBe(1);
    expect(errors).toContain(`There is no ledger in ${join(empty, 'dta')}`);
    expect(errors).toContain('"npx transfer-service migrate"');
    expect(await readdir(empty)).toEqual([]);
  });

  test('names a missing setting', () => {
    expect(readConfiguration({}).dataDirectoryOrigin).toMatch(/^DATA_DIR is not set, so it is \.\/data/);
  });
});

describe('while a service is running on the embedded database, a command', () => {
  test('verifies the books and the audit log', async () => {
    const books = await runCommand(['verify-books'], { DATA_DIR });
    expect(books).toMatchObject({ exitCode: 0, errors: '' });
    expect(JSON.parse(books.output)).toMatchObject({ balanced: true, postings_compared: true });
    const audit = await runCommand(['audit', 'verify'], { DATA_DIR });
    expect(audit).toMatchObject({ exitCode: 0, output: expect.stringContaining('The audit log is intact') });
    expect((await service.client.transfers.create({ amount: 1, card_id: 'card_active' })).status).toBe('completed');
  });

  test('lists metadata with names that Node may have changed', async () => {
    const { client } = service;
    const terms = { amount: 1, card_id: 'card_active' };
    const { transfer_id, program_id } = await client.transfers.create({
      ...terms,
      metadata: { '\\': '1', plain: '\\"' },
    });
    const quoted = await client.transfers.create({ ...terms, metadata: { 'a "note"\t': '1', z: '2' } });
    await client.transfers.create({ ...terms, metadata: { plain: 'a "value" with \\' } });
    const { exitCode, output, errors } = await runCommand(['verify-metadata'], { DATA_DIR });
    expect([exitCode, errors]).toEqual([0, '']);
    const lines = output.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toBe(`transfer ${transfer_id} of ${program_id}: "\\\\" (the stored name may have been changed)`);
    expect(lines[1]).toBe(
      `transfer ${quoted.transfer_id} of ${program_id}: "a \\"note\\"\\t" (an event may have a different name)`,
    );
    expect(lines[2]).toMatch(/^2 records have names that Node may have changed, 1 of them in the stored metadata\. /);
  });

  test('creates an operator key that works at once, and finds nothing to migrate', async () => {
    expect(await runCommand(['migrate'], { DATA_DIR })).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('up to date'),
    });
    const made = await runCommand(['operator-key', 'create', '--name', 'second'], { DATA_DIR });
    expect(made).toMatchObject({ exitCode: 0, output: expect.stringMatching(/^ts_[0-9a-f]+_[0-9a-f]+\n$/) });
    const headers = { Authorization: `Bearer ${made.output.trim()}` };
    const { status } = await sendRaw(service.url, { method: 'GET', path: '/api/v0.1/operator/key', headers });
    expect(status).toBe(200);
  });

  test('removes the approval rules, prints them and records this in the audit log', async () => {
    const { client } = service;
    const rules = [{ operation: 'create_withdrawal', over: 100, currency: 'USD' }] as const;
    await client.approvals.changePolicy({ rules, expires_after_hours: 48 });
    const removed = await runCommand(['approval-policy', 'remove'], { DATA_DIR });
    expect(removed).toMatchObject({
      exitCode: 0,
      errors: expect.stringContaining('All rules for approvals were removed'),
    });
    expect(JSON.parse(removed.output)).toEqual({ rules, expires_after_hours: 48 });
    expect(await client.approvals.policy()).toMatchObject({ rules: [], changed_by: 'host' });
    const { data } = await client.audit.list({ action: 'change_approval_policy', limit: 1 });
    expect(data).toMatchObject([{ actor: 'host', details: { rules: [], expires_after_hours: 48 } }]);
    const again = await runCommand(['approval-policy', 'remove'], { DATA_DIR });
    expect(again).toMatchObject({ exitCode: 0, output: '', errors: expect.stringContaining('nothing was changed') });
  });

  test('ends with one sentence when the database stops with the service', async () => {
    const { databaseUrl } = await embeddedServerOf(DATA_DIR);
    const url = new URL(databaseUrl.replace('@/', '@localhost/'));
    const host = url.searchParams.get('host') ?? '';
    const database = { host, port: 5432, user: 'postgres', database: 'transfer_service' };
    const [holder, watcher] = [await connect(database), await connect(database)];
    await holder.query('begin; lock table posting');
    const ending = runCommand(['verify-books'], { DATA_DIR });
    const waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%from posting%'";
    await waitFor('the command to wait for the table', async () => (await watcher.query(waits)).rows.length > 0);
    await service.kill();
    // The killed service leaves its database running. The next service stops that database.
    service = await startService({ DATA_DIR });
    const { exitCode, output, errors } = await ending;
    expect([exitCode, output]).toEqual([1, '']);
    expect(errors).toMatch(
      /^The connection to the ledger in [^\n]+ was lost before verify-books completed[^\n]+\nRunbook: docs\/runbook\/database-unreachable\.md\n$/,
    );
    for (const client of [holder, watcher]) await client.end().catch(() => undefined);
  });
});

test('a stopped command also stops the PostgreSQL that it started', async () => {
  await service.stop();
  const main = new URL('../../server/host/administration.ts', import.meta.url).pathname;
  let server: number | undefined;
  // On a busy machine, the command can finish before the test has found its server. In that case, the test starts
  // another command.
  while (server === undefined) {
    const child = spawn(process.execPath, [main, 'verify-books'], {
      env: { PATH: process.env.PATH, DATA_DIR },
      stdio: 'ignore',
    });
    let isOver = false;
    const ended = new Promise((resolve) => child.once('exit', (exitCode) => resolve(exitCode))).finally(() => {
      isOver = true;
    });
    while (server === undefined && !isOver) {
      server = (await embeddedServerOf(DATA_DIR).catch(() => undefined))?.processId;
      await new Promise((wake) => setTimeout(wake, 5));
    }
    child.kill('SIGTERM');
    expect([0, 143]).toContain(await ended);
  }
  await waitFor(
    'PostgreSQL is gone',
    async () => (await embeddedServerOf(DATA_DIR).catch(() => undefined)) === undefined,
  );
  expect(server).toBeGreaterThan(0);
});
