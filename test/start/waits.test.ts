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

// What a start and the commands wait for has no limit of time: a server that is slow is waited for, and the operator is told.

const { directory, embedded, urlOf } = await usePostgres();
const settings = embedded.connection;
const person = await useConnection({ ...settings, application_name: 'a person' });
const DATABASE_URL = urlOf('transfer_service', 'transfer_service');
const configurationOf = (url: string) => readConfiguration({ DATABASE_URL: url, DATA_DIR: join(directory, 'service') });
const QUIET = { onProgress: () => undefined, onServerExit: () => undefined };
/** So that a test need not wait for the line that an operator gets every five seconds. */
const OFTEN = 20;

const toStop: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const stop of toStop.splice(0)) await stop();
});

/** Keeps PostgreSQL from doing anything, as a machine does that is too busy; gives what lets it go on. */
function freeze(): () => void {
  const processId = embedded.processId() ?? 0;
  process.kill(processId, 'SIGSTOP');
  const thaw = (): void => void process.kill(processId, 'SIGCONT');
  toStop.push(thaw);
  return thaw;
}

/** Lets ten minutes pass on the clock of this process, and gives how the promise has ended in them. */
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

test('a start waits for a server that lives and does not respond, and says so', async () => {
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

test('the making of the role and the database of a new ledger waits as well', async () => {
  const thaw = freeze();
  fakeClock();
  const providing = provision(settings.host);
  expect(await outcomeAfterMinutes(providing)).toBe('waits');
  thaw();
  await providing;
});

/** A database that takes connections and never says anything. */
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

test('a start that waits ends at once when it is stopped', async () => {
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

test('doctor does not wait: that the database does not respond is what it says', async () => {
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

test('a server that goes away ends the wait, with the reason', async () => {
  const { url, sockets } = await useSilence();
  fakeClock();
  const opening = openDatabase(configurationOf(url), QUIET);
  expect(await outcomeAfterMinutes(opening)).toBe('waits');
  for (const socket of sockets) socket.destroy();
  await expect(opening).rejects.toThrow(
    'The database of DATABASE_URL cannot be used: Connection terminated unexpectedly.',
  );
});

test('of several hosts a start names each with the reason, and waits while one does not respond', async () => {
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

test('a statement of a start has no time limit, here or in PostgreSQL', async () => {
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

/** Waits for a line of a kind, then does what ends the wait. */
function whenTold(line: RegExp, end: () => Promise<unknown>) {
  const told = Promise.withResolvers<string>();
  const ended = told.promise.then(end);
  return {
    onProgress: (said: string): void => {
      if (line.test(said)) told.resolve(said);
    },
    line: async (): Promise<string> => {
      await ended;
      return told.promise;
    },
  };
}

const pidOfPerson = async (): Promise<number> =>
  (await person.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0;

test('a start waits for a lock, and names who holds it', async () => {
  await migrate(settings);
  await person.query('begin; lock table ledger_mode in access exclusive mode');
  const telling = whenTold(/holds a lock/, () => person.query('rollback'));
  const opened = { databases: openDatabases(settings), connections: { max: 8, isLimited: false } };
  toStop.push(opened.databases.close);
  const { migration } = await prepareLedger(configurationOf(DATABASE_URL), opened, telling.onProgress, OFTEN);
  expect(migration).toMatch(/^\d{4}_/);
  expect((await telling.line()).replace(/\(\d+ s\)/, '(0 s)')).toBe(
    `Still preparing the schema (0 s): PostgreSQL process ${await pidOfPerson()} (a person, user transfer_service) holds a lock.`,
  );
});

test('a migration waits for another process that migrates, and names it', async () => {
  await person.query('select pg_advisory_lock(7201001)');
  const telling = whenTold(/process \d+ .*which migrates/, () => person.query('select pg_advisory_unlock(7201001)'));
  await migrate(settings, { onWait: telling.onProgress, everyMilliseconds: OFTEN });
  expect(await telling.line()).toContain(
    `Still waiting for PostgreSQL process ${await pidOfPerson()} (a person, user transfer_service), which migrates`,
  );
});

test('a command waits for the PostgreSQL of the service as long as it lives', async () => {
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
  // A service without a server would be waited for no time at all.
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
