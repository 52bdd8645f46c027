import { execFile } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { isAlive } from '../../server/postgres/processes.ts';
import { waitFor } from '../harness/process.ts';
import {
  cleanUpAfterTests,
  isRoot,
  kill,
  makeDirectory,
  makeLedger,
  query,
  READ,
  runOwner,
  start,
  WRITE,
} from './directories.ts';

cleanUpAfterTests();

test('creates the ledger at the first start, keeps it after a restart, and leaves no process after a stop', async () => {
  const directory = join(await makeDirectory(), 'made', 'on demand');
  const first = await start(directory);
  expect(first.state()).toBe('running');
  expect(first.moved).toBe(false);
  expect(first.dataDirectory).toBe(join(directory, 'postgresql'));
  await query(first, ...WRITE);
  const firstProcess = first.processId() ?? 0;
  await first.stop();
  // PostgreSQL shut down when asked. No stronger signal was needed.
  const log = await readFile(first.serverLog, 'utf8');
  expect(log).toContain('received fast shutdown request');
  expect(log).toContain('database system is shut down');
  expect(log).not.toContain('immediate shutdown');
  expect(isAlive(firstProcess)).toBe(false);
  expect(first.state()).toBe('stopped');
  expect(first.processId()).toBeUndefined();
  await expect(stat(first.connection.host)).rejects.toThrow('ENOENT');

  const second = await start(directory);
  expect(await query(second, READ)).toEqual([{ value: 42 }]);
});

test('starts a server with safe settings, checksums, a private socket and no superuser role', async () => {
  const postgres = await start(await makeLedger());
  const [settings] = await query(
    postgres,
    `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,
            current_setting('full_page_writes') AS full_page_writes, current_setting('data_checksums') AS checksums,
            current_setting('listen_addresses') AS addresses, current_setting('server_encoding') AS encoding,
            current_setting('TimeZone') AS zone, current_setting('max_connections') AS connections,
            (SELECT datlocprovider::text || datlocale FROM pg_database WHERE datname = current_database()) AS locale,
            (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_superuser,
            (SELECT rolcreaterole FROM pg_roles WHERE rolname = current_user) AS creates_roles`,
  );
  expect(settings).toEqual({
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    checksums: 'on',
    addresses: '',
    encoding: 'UTF8',
    zone: 'UTC',
    connections: '100',
    locale: 'bC.UTF-8',
    is_superuser: false,
    creates_roles: true,
  });
  const { host } = postgres.connection;
  const socketDirectory = await stat(host);
  expect(socketDirectory.mode & 0o777).toBe(0o700);
  expect(socketDirectory.uid === 0).toBe(false);
  expect((await stat(postgres.dataDirectory)).uid).toBe(socketDirectory.uid);
  expect(Buffer.byteLength(join(host, '.s.PGSQL.5432'))).toBeLessThanOrEqual(103);
});

test('returns a URL that connects to the server, which has the configured buffers', async () => {
  const postgres = await start(await makeLedger(), { sharedBuffers: 100 });
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  const { rows } = await client.query("SELECT current_user AS role, current_setting('shared_buffers') AS buffers");
  expect(rows).toEqual([{ role: 'transfer_service', buffers: '100MB' }]);
  await client.end();
});

test('keeps a committed row when the server is killed, restarts the server and reports it', async () => {
  const reports: string[] = [];
  const postgres = await start(await makeLedger(), { onServerExit: (line) => reports.push(line) });
  await query(postgres, ...WRITE);
  for (let round = 1; round <= 2; round += 1) {
    const before = postgres.processId() ?? 0;
    process.kill(before, 'SIGKILL');
    await waitFor('another server runs', async () => postgres.state() === 'running' && postgres.processId() !== before);
    expect(await query(postgres, READ)).toEqual([{ value: 42 }]);
    // On a busy machine, the restart may take several attempts, each with a report.
    expect(reports).toContainEqual(expect.stringContaining(`PostgreSQL (process ${before}) was ended by SIGKILL`));
  }
});

test('keeps retrying a failing start until its cause is fixed', async () => {
  const reports: string[] = [];
  const postgres = await start(await makeLedger(), { onServerExit: (line) => reports.push(line) });
  await query(postgres, ...WRITE);
  const configuration = join(postgres.dataDirectory, 'postgresql.conf');
  const sound = await readFile(configuration, 'utf8');
  await writeFile(configuration, 'not a setting');
  process.kill(postgres.processId() ?? 0, 'SIGKILL');
  await waitFor('three reports', async () => reports.length >= 3);
  expect(postgres.state()).not.toBe('running');
  expect(reports.at(-1)).toMatch(/ended with status 1: .*postgresql\.conf/);
  await writeFile(configuration, sound);
  await waitFor('the server runs', async () => postgres.state() === 'running');
  expect(await query(postgres, READ)).toEqual([{ value: 42 }]);
});

test('keeps the server stopped from pause to resume, and allows repeated calls of both', async () => {
  const postgres = await start(await makeLedger());
  await query(postgres, ...WRITE);
  const before = postgres.processId() ?? 0;
  await Promise.all([postgres.pause(), postgres.pause()]);
  expect(postgres.state()).toBe('stopped');
  expect(isAlive(before)).toBe(false);
  await expect(query(postgres, READ)).rejects.toThrow(/ENOENT|ECONNREFUSED/);
  await Promise.all([postgres.resume(), postgres.resume()]);
  expect(postgres.state()).toBe('running');
  expect(await query(postgres, READ)).toEqual([{ value: 42 }]);
  const crossing = [postgres.pause(), postgres.resume(), postgres.pause()];
  await Promise.allSettled(crossing);
  expect(postgres.state()).toBe('stopped');
  await postgres.stop();
  await expect(postgres.resume()).rejects.toThrow('PostgreSQL was stopped.');
});

test('replaces the orphaned server of a killed service, keeps its committed data and rolls back its open transaction', async () => {
  const directory = await makeLedger();
  const owner = await runOwner('start', directory);
  const orphan = owner.serverProcessId ?? 0;
  const refused = await runOwner('start', directory);
  expect(refused.message).toContain(`in use by process ${owner.process.pid}.`);
  const connection = owner.connection ?? { host: '', port: 0, user: '', database: '' };
  await query({ connection }, ...WRITE);
  const client = new Client(connection);
  client.on('error', () => undefined);
  await client.connect();
  await client.query('BEGIN');
  await client.query('UPDATE kept SET value = 43');
  await kill(owner.process);
  expect(isAlive(orphan)).toBe(true);

  const progress: string[] = [];
  const postgres = await start(directory, { onProgress: (line) => progress.push(line) });
  expect(progress.join()).toContain(`(process ${orphan})`);
  expect(isAlive(orphan)).toBe(false);
  await expect(client.query('COMMIT')).rejects.toThrow();
  expect(await query(postgres, READ)).toEqual([{ value: 42 }]);
  await client.end().catch(() => undefined);
});

test('prevents commits by backends that outlive a killed server and service', async () => {
  const directory = await makeLedger();
  const postgres = await start(directory);
  await query(postgres, 'CREATE TABLE kept (value integer)');
  const client = new Client(postgres.connection);
  client.on('error', () => undefined);
  await client.connect();
  // The statement below never ends by itself. The timeout ends it if the test does not.
  await client.query("SET statement_timeout = '5min'");
  const [backend] = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows;
  const busy = client
    .query('DO $$ BEGIN INSERT INTO kept VALUES (1); LOOP PERFORM 1; END LOOP; END $$')
    .catch(() => 'lost');
  const isBusy = `SELECT FROM pg_stat_activity WHERE pid = ${backend?.pid} AND state = 'active'`;
  await waitFor('the statement runs', async () => (await query(postgres, isBusy)).length === 1);
  const before = postgres.processId() ?? 0;
  process.kill(before, 'SIGKILL');
  await waitFor('another server runs', async () => postgres.state() === 'running' && postgres.processId() !== before);
  expect(isAlive(backend?.pid ?? 0)).toBe(false);
  expect(await busy).toBe('lost');
  expect(await query(postgres, READ)).toEqual([]);
  await client.end().catch(() => undefined);
});

test('starts despite a stale postmaster.pid with a dead or reused process id', async () => {
  const directory = await makeLedger();
  const first = await start(directory);
  await query(first, ...WRITE);
  await first.stop();
  for (const processId of [process.pid, process.ppid, 4_194_303]) {
    const record = `${processId}\n${first.dataDirectory}\n1700000000\n5432\n/tmp\n\n  1 1\nready   \n`;
    await writeFile(join(first.dataDirectory, 'postmaster.pid'), record);
    const postgres = await start(directory);
    expect(await query(postgres, READ)).toEqual([{ value: 42 }]);
    await postgres.stop();
  }
});

test('gives the server its own process group, so that it gets no signals from the terminal', async () => {
  const postgres = await start(await makeLedger());
  const columns = ['-o', 'pgid=', '-p', String(postgres.processId())];
  const { stdout } = await promisify(execFile)('ps', columns);
  expect(Number.parseInt(stdout, 10)).toBe(postgres.processId());
});

test('allows only the users of the service and of its server to log in', async () => {
  const postgres = await start(await makeLedger());
  const rules = await readFile(join(postgres.dataDirectory, 'pg_hba.conf'), 'utf8');
  expect(rules.split('\n').filter((line) => line && !line.startsWith('#'))).toEqual([
    'local all all peer map=transfer_service',
  ]);
  const users = await readFile(join(postgres.dataDirectory, 'pg_ident.conf'), 'utf8');
  const lines = users.split('\n').filter((line) => line && !line.startsWith('#'));
  expect(lines).toHaveLength(isRoot ? 2 : 1);
  expect(await readdir(postgres.dataDirectory)).not.toContain('pg_hba.conf.new');
});
