import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { readConfiguration } from '../../server/foundation/configuration/configuration.ts';
import { examineDatabase } from '../../server/host/commands/doctor.ts';
import { openDatabase } from '../../server/host/open-database.ts';
import { prepareLedger } from '../../server/host/start/prepare-ledger.ts';
import { openLedgerForCommand } from '../../server/postgres/command-access.ts';
import { provision } from '../../server/postgres/postgres-server.ts';
import { STARTS } from '../../server/store/connection/connections.ts';
import { openDatabases } from '../../server/store/connection/databases.ts';
import { migrate } from '../../server/store/migrations/migrate.ts';
import { useConnection, usePostgres } from '../harness/use-ledger.ts';

// Tests that a start and the commands wait for a slow server without a time limit, and inform the operator.

const { directory, embedded, urlOf } = await usePostgres();
const settings = embedded.connection;
const person = await useConnection({ ...settings, application_name: 'a person' });
const DATABASE_URL = urlOf('transfer_service', 'transfer_service');
const configurationOf = (url: string) => readConfiguration({ DATABASE_URL: url, DATA_DIR: join(directory, 'service') });
const QUIET = { onProgress: () => undefined, onServerExit: () => undefined };
/** The interval between lines, in milliseconds. An operator gets a line every five seconds. */
const OFTEN = 20;

const toStop: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const stop of toStop.splice(0)) await stop();
});

/** Stops PostgreSQL, as on a machine that is too busy. Returns a function that lets it continue. */
function freeze(): () => void {
  const processId = embedded.processId() ?? 0;
  process.kill(processId, 'SIGSTOP');
  const thaw = (): void => void process.kill(processId, 'SIGCONT');
  toStop.push(thaw);
  return thaw;
}

/** Advances this process's clock by ten minutes. Returns how the promise has settled after that time. */
async function outcomeAfterMinutes(promise: Promise<unknown>): Promise<string> {
  let outcome = 'waits';
  promise.then(
    () => {
      outcome = 'done';
    },
    (error: unknown) => {
      outcome = String(error);
    },
  );
  for (let count = 0; count < 60; count += 1) {
    await vi.advanceTimersByTimeAsync(10_000);
    await new Promise((turn) => setImmediate(turn));
  }
  return outcome;
}

const fakeClock = () =>
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });

test('a start waits for a running server that does not respond, and reports this', async () => {
  const lines: string[] = [];
  const thaw = freeze();
  fakeClock();
  const opening = openDatabase(configurationOf(DATABASE_URL), { ...QUIET, onProgress: (line) => lines.push(line) });
  expect(await outcomeAfterMinutes(opening)).toBe('waits');
  expect(lines.slice(0, 2)).toEqual([
    'Still waiting for the database of DATABASE_URL to respond (5 s).',
    'Still waiting for the database of DATABASE_URL to respond (10 s).',
  ]);
  thaw();
  await (await opening).close();
});

test('creating the role and the database of a new ledger also waits', async () => {
  const thaw = freeze();
  fakeClock();
  const providing = provision(settings.host);
  expect(await outcomeAfterMinutes(providing)).toBe('waits');
  thaw();
  await providing;
});

/** Starts a server that accepts connections but never responds. */
async function useSilence() {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  toStop.push(() => silent.close());
  toStop.push(() => sockets.map((socket) => socket.destroy()));
  const url = `postgresql://someone@127.0.0.1:${(silent.address() as AddressInfo).port}/ledger`;
  return { url, sockets, silent };
}

test('a waiting start ends at once when it is stopped', async () => {
  const { url, silent } = await useSilence();
  const connected = once(silent, 'connection');
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../server/main.ts')], {
    env: { PATH: process.env.PATH, PORT: '0', DATABASE_URL: url, DATA_DIR: join(directory, 'stopped') },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  await connected;
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test('doctor does not wait, and reports that the database does not respond', async () => {
  const { url } = await useSilence();
  expect(await examineDatabase(configurationOf(url), false, 50)).toEqual([
    {
      name: 'database',
      outcome: 'problem',
      message: 'It could not be examined within 0.05 s.',
      runbook: 'docs/runbook/database-silent.md',
    },
  ]);
});

test('the wait ends with the reason when the server closes the connection', async () => {
  const { url, sockets } = await useSilence();
  fakeClock();
  const opening = openDatabase(configurationOf(url), QUIET);
  expect(await outcomeAfterMinutes(opening)).toBe('waits');
  for (const socket of sockets) socket.destroy();
  await expect(opening).rejects.toThrow(
    'The database of DATABASE_URL cannot be used: Connection terminated unexpectedly.',
  );
});

test('a start names each of several hosts with the reason, and waits while one of them does not respond', async () => {
  const { sockets, silent } = await useSilence();
  const gone = createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const [silentHost, closedHost] = [silent, gone].map(
    (server) => `127.0.0.1:${(server.address() as AddressInfo).port}`,
  );
  gone.close();
  const lines: string[] = [];
  fakeClock();
  const url = `postgresql://someone:geheim@${closedHost},${silentHost}/ledger`;
  const opening = openDatabase(configurationOf(url), { ...QUIET, onProgress: (line) => lines.push(line) });
  expect(await outcomeAfterMinutes(opening)).toBe('waits');
  const refused = `${closedHost} (connect ECONNREFUSED ${closedHost})`;
  expect(lines[0]).toBe(
    `Still waiting for the database of DATABASE_URL to respond (5 s): ${refused}, ${silentHost} (no response yet).`,
  );
  for (const socket of sockets) socket.destroy();
  await expect(opening).rejects.toThrow(
    'The database of DATABASE_URL cannot be used: none of its hosts can be written to: ' +
      `${refused}, ${silentHost} (Connection terminated unexpectedly). Check the address`,
  );
});

test('the statements of a start have no time limit, in the service or in PostgreSQL', async () => {
  const { background, application, close } = openDatabases(settings, undefined, STARTS);
  toStop.push(close);
  const limits = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
  const read = { name: 'limits', text: 'select current_setting(unnest($1::text[])) as value', values: [limits] };
  await migrate(settings);
  expect(await background.read(read)).toEqual(limits.map(() => ({ value: '0' })));
  await person.query('begin; lock table switch');
  fakeClock();
  const reading = application.forProgram().read({ name: 'locked', text: 'select from switch', values: [] });
  expect(await outcomeAfterMinutes(reading)).toBe('waits');
  vi.useRealTimers();
  await person.query('rollback');
  await reading;
});

/** Waits for a matching line, then runs a function that ends the wait. */
function onLine(line: RegExp, end: () => Promise<unknown>) {
  const found = Promise.withResolvers<string>();
  const ended = found.promise.then(end);
  return {
    onProgress: (text: string): void => {
      if (line.test(text)) found.resolve(text);
    },
    line: async (): Promise<string> => {
      await ended;
      return found.promise;
    },
  };
}

const pidOfPerson = async (): Promise<number> =>
  (await person.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0;

test('a start waits for a lock, and names its holder', async () => {
  await migrate(settings);
  await person.query('begin; lock table ledger_mode in access exclusive mode');
  const telling = onLine(/holds a lock/, () => person.query('rollback'));
  const opened = { databases: openDatabases(settings), connections: { max: 8, isLimited: false } };
  toStop.push(opened.databases.close);
  const { migration } = await prepareLedger(configurationOf(DATABASE_URL), opened, telling.onProgress, OFTEN);
  expect(migration).toMatch(/^\d{4}_/);
  expect((await telling.line()).replace(/\(\d+ s\)/, '(0 s)')).toBe(
    `Still preparing the schema (0 s): PostgreSQL process ${await pidOfPerson()} (a person, user transfer_service) holds a lock.`,
  );
});

test('a migration waits for another process that is migrating, and names that process', async () => {
  await person.query('select pg_advisory_lock(7201001)');
  const telling = onLine(/process \d+ .*which is migrating/, () => person.query('select pg_advisory_unlock(7201001)'));
  await migrate(settings, { onWait: telling.onProgress, everyMilliseconds: OFTEN });
  expect(await telling.line()).toContain(
    `Still waiting for PostgreSQL process ${await pidOfPerson()} (a person, user transfer_service), which is migrating`,
  );
});

test("a command waits for the service's PostgreSQL as long as the service lives", async () => {
  const lines: string[] = [];
  const thaw = freeze();
  fakeClock();
  const options = {
    dataDirectory: directory,
    task: 'verify-books',
    onProgress: (line: string) => void lines.push(line),
  };
  const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
  const before = pipes();
  // The time limit of 0 applies only if the service has no server.
  const visiting = openLedgerForCommand(options, 0);
  while (pipes() === before) await new Promise((turn) => setImmediate(turn));
  expect(await outcomeAfterMinutes(visiting)).toBe('waits');
  expect(lines[0]).toMatch(
    new RegExp(`^Still waiting for the PostgreSQL of process ${process.pid} on .* \\(\\d+ s\\)\\.$`),
  );
  thaw();
  const { connection, close } = await visiting;
  await close();
  expect(connection).toEqual(settings);
});
