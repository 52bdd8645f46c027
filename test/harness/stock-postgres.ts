import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { chown, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { TestContext } from 'vitest';
import { StartupProblem } from '../../server/foundation/startup-problem.ts';
import { chooseServerUser, type ServerUser } from '../../server/postgres/ledger-location.ts';
import { migrate } from '../../server/store/migrations/migrate.ts';
import { templatesOfThisRun } from './ledger-templates.ts';

// The PostgreSQL of a distribution with its default settings, and a role that owns its database and nothing else.
// `npm run verify` runs suites on it by TEST_POSTGRES_BIN, a directory with `initdb` and `postgres`. Its files are in a data
// directory, like those of an embedded server.

/** Directory of the binaries that the tests run on instead of the embedded ones; undefined as a rule. */
export const STOCK_BINARIES: string | undefined = process.env.TEST_POSTGRES_BIN || undefined;

/** Skips a test that stops the PostgreSQL of a sandbox, if that is one of a distribution. */
export function requireOwnPostgres(context: TestContext): void {
  if (STOCK_BINARIES === undefined) return;
  const notRun = 'a sandbox stops only the PostgreSQL that comes with it';
  Object.assign(context.task.meta, { notRun });
  context.skip(notRun);
}

const SERVICE = 'transfer_service';
const PORT = 5432;

/** For a start, in milliseconds: the recovery after a crash on a busy machine included. */
const START_TIME = 180_000;

/** A server of the tests' own, with a database for the service in it. */
export type StockPostgres = {
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
  };
  readonly url: string;
  /** Path of PostgreSQL's own log. */
  readonly serverLog: string;
  readonly processId: () => number | undefined;
  readonly state: () => 'running' | 'stopped';
  /** Stops the server immediately, until `resume`. */
  readonly pause: () => Promise<void>;
  readonly resume: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

const started = new Map<string, Promise<StockPostgres>>();

/**
 * The settings of a service, with the DATABASE_URL of the server of its DATA_DIR if the tests run on stock binaries and the
 * settings name no other database.
 */
export async function withStockPostgres(
  settings: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const { DATA_DIR, DATABASE_URL } = settings;
  if (STOCK_BINARIES === undefined || DATA_DIR === undefined || DATABASE_URL !== undefined) return settings;
  return { ...settings, DATABASE_URL: (await stockPostgresIn(DATA_DIR, STOCK_BINARIES)).url };
}

/** The server of the service with these settings, when it is one of those above. */
export function findStockPostgresOf(settings: Readonly<Record<string, string>>): Promise<StockPostgres> | undefined {
  return settings.DATABASE_URL === undefined ? started.get(settings.DATA_DIR ?? '') : undefined;
}

/** The server of a data directory, created and started if necessary. */
export function stockPostgresIn(dataDirectory: string, binaries: string): Promise<StockPostgres> {
  const known = started.get(dataDirectory) ?? openStockPostgres(dataDirectory, binaries);
  started.set(dataDirectory, known);
  return known;
}

/** Ends the server of a data directory, if there is one. */
export async function stopStockPostgresIn(dataDirectory: string): Promise<void> {
  const known = started.get(dataDirectory);
  started.delete(dataDirectory);
  await (await known)?.stop();
}

async function openStockPostgres(dataDirectory: string, binaries: string): Promise<StockPostgres> {
  const files = join(dataDirectory, 'postgresql');
  await mkdir(dataDirectory, { recursive: true });
  if (!existsSync(files)) await promisify(execFile)('cp', ['-a', await templateOf(binaries), files]);
  return startStockPostgres(dataDirectory, binaries);
}

const templates = new Map<string, Promise<string>>();

function templateOf(binaries: string): Promise<string> {
  const known = templates.get(binaries) ?? makeTemplate(binaries);
  templates.set(binaries, known);
  return known;
}

/** Two processes may make it at once; the first to finish renames its copy, and the other's is removed. */
async function makeTemplate(binaries: string): Promise<string> {
  const place = templatesOfThisRun() ?? '/tmp';
  const ready = join(place, `stock${binaries.replaceAll('/', '-')}`);
  const files = join(ready, 'postgresql');
  if (existsSync(files)) return files;
  const user = await chooseServerUser();
  const making = await mkdtemp(join(place, 'making-'));
  await chown(making, user.uid, user.gid);
  const words = [
    '--pgdata',
    join(making, 'postgresql'),
    '--username',
    'postgres',
    '--encoding',
    'UTF8',
    '--locale',
    'C.UTF-8',
  ];
  await promisify(execFile)(join(binaries, 'initdb'), words, { cwd: '/', ...user.spawnAs });
  const server = await startStockPostgres(making, binaries);
  try {
    await provision(server);
  } finally {
    await server.stop();
  }
  try {
    await rename(making, ready);
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    if (!existsSync(files)) throw error;
  }
  return files;
}

/** A role with rights in its own database only, after a superuser ran the statements that `migrate` prints. */
async function provision({ connection }: StockPostgres): Promise<void> {
  const superuser = new pg.Client({ ...connection, user: 'postgres', database: 'postgres' });
  await superuser.connect();
  try {
    await superuser.query(`create role ${SERVICE} login`);
    await superuser.query(`create database scratch owner ${SERVICE}`);
    const refused = await migrate({ ...connection, database: 'scratch' }).catch((error: unknown) => error);
    if (!(refused instanceof StartupProblem)) throw new Error(`migrate asked for no statements: ${refused}`);
    const [statements] = /CREATE ROLE .*;/.exec(refused.message) ?? [];
    if (statements === undefined) throw new Error(`no statements in: ${refused.message}`);
    await superuser.query(statements);
    await superuser.query('drop database scratch');
    await superuser.query(`create database ${SERVICE} owner ${SERVICE}`);
  } finally {
    await superuser.end();
  }
}

async function startStockPostgres(dataDirectory: string, binaries: string): Promise<StockPostgres> {
  const user = await chooseServerUser();
  const host = join(dataDirectory, 'socket');
  await mkdir(host, { recursive: true });
  await chown(host, user.uid, user.gid);
  const server = new Server(join(binaries, 'postgres'), join(dataDirectory, 'postgresql'), host, user);
  await server.start();
  return {
    connection: { host, port: PORT, user: SERVICE, database: SERVICE },
    url: `postgresql://${SERVICE}@/${SERVICE}?host=${encodeURIComponent(host)}&port=${PORT}`,
    serverLog: server.log,
    processId: () => server.processId,
    state: () => (server.processId === undefined ? 'stopped' : 'running'),
    pause: () => server.end('SIGQUIT'),
    resume: () => server.start(),
    stop: () => server.end('SIGINT'),
  };
}

/** The main process, restarted when it ends unexpectedly, as by an operator's supervisor. */
class Server {
  readonly #command: readonly [string, ...string[]];
  readonly log: string;
  readonly #host: string;
  readonly #user: ServerUser;
  #child: ChildProcess | undefined;
  #isWanted = false;

  constructor(postgres: string, files: string, host: string, user: ServerUser) {
    // Only what separates it from other servers of this machine; all other settings are initdb's defaults.
    this.#command = [postgres, '-D', files, '-c', 'listen_addresses=', '-c', `unix_socket_directories=${host}`];
    this.#host = host;
    this.log = join(host, 'log');
    this.#user = user;
  }

  get processId(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    this.#isWanted = true;
    this.#spawn();
    const deadline = performance.now() + START_TIME;
    while (!(await this.#accepts())) {
      if (performance.now() > deadline)
        throw new Error(`PostgreSQL does not start:\n${await readFile(this.log, 'utf8')}`);
      await new Promise((wake) => setTimeout(wake, 50));
    }
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.#isWanted = false;
    const child = this.#child;
    if (child === undefined) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    if (child.exitCode === null && child.signalCode === null) await ended;
  }

  #spawn(): void {
    const [postgres, ...words] = this.#command;
    const log = openSync(this.log, 'a');
    const stdio = ['ignore', log, log] as const;
    const child = spawn(postgres, words, {
      cwd: '/',
      env: { LC_ALL: 'C.UTF-8' },
      stdio: [...stdio],
      ...this.#user.spawnAs,
    });
    closeSync(log);
    this.#child = child;
    // An aborted test leaves no server behind.
    const end = (): void => void child.kill('SIGQUIT');
    process.once('exit', end);
    child.once('exit', () => {
      process.off('exit', end);
      if (this.#child === child) this.#child = undefined;
      // After a SIGKILL its children keep the files open for a moment.
      if (this.#isWanted) setTimeout(() => this.#isWanted && this.#child === undefined && this.#spawn(), 100);
    });
  }

  async #accepts(): Promise<boolean> {
    const client = new pg.Client({ host: this.#host, port: PORT, user: 'postgres', database: 'postgres' });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}
