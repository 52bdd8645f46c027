import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { chown, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { StartupProblem } from '../../../server/foundation/startup-problem.ts';
import { chooseServerUser, type ServerUser } from '../../../server/postgres/ledger-location.ts';
import { migrate } from '../../../server/store/migrations/migrate.ts';
import { makeTemplate, templatesOfThisRun } from '../ledger-templates.ts';

/** The port of every test server. Each server listens on a socket in its own directory. */
export const PORT = 5432;

export const SERVICE = 'transfer_service';

/** The time limit of a start in milliseconds, including crash recovery on a busy machine. */
const START_TIME = 180_000;

/** A test server with a database for the service. */
export type StockPostgres = {
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
    /** The schema of a Citus placement. It is never the default schema. */
    readonly schema?: string;
  };
  readonly url: string;
  readonly serverLog: string;
  readonly processId: () => number | undefined;
  readonly state: () => 'running' | 'stopped';
  /** Stops the server immediately, until `resume` is called. */
  readonly pause: () => Promise<void>;
  readonly resume: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/**
 * A PostgreSQL server and its main process. If the process ends unexpectedly, it is restarted, as an operator's
 * supervisor would do.
 */
export class PostgresServer {
  readonly #command: readonly [string, ...string[]];
  readonly log: string;
  readonly #host: string;
  readonly #user: ServerUser;
  #child: ChildProcess | undefined;
  #isWanted = false;

  /** `host` is the directory of the server's socket. `settings` are added to initdb's defaults. */
  constructor(postgres: string, files: string, host: string, user: ServerUser, settings: readonly string[] = []) {
    // These settings only keep the server separate from other servers on this machine.
    const all = ['listen_addresses=', `unix_socket_directories=${host}`, ...settings];
    this.#command = [postgres, '-D', files, ...all.flatMap((setting) => ['-c', setting])];
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
    // Ends the server if the test is aborted.
    const end = (): void => void child.kill('SIGQUIT');
    process.once('exit', end);
    child.once('exit', () => {
      process.off('exit', end);
      if (this.#child === child) this.#child = undefined;
      // After a SIGKILL, the children of the main process keep the files open for a moment.
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

const templates = new Map<string, Promise<string>>();

/**
 * Copies a data directory to `files`. The original is created once per run by the `initdb` of these binaries and by
 * `prepare`, which gets the parent directory.
 */
export async function copyTemplate(
  files: string,
  name: string,
  binaries: string,
  prepare: (directory: string) => Promise<void>,
): Promise<void> {
  const key = `${name}${binaries.replaceAll('/', '-')}`;
  const known = templates.get(key) ?? initialize(key, binaries, prepare);
  templates.set(key, known);
  await promisify(execFile)('cp', ['-a', await known, files]);
}

async function initialize(
  key: string,
  binaries: string,
  prepare: (directory: string) => Promise<void>,
): Promise<string> {
  const user = await chooseServerUser();
  return makeTemplate(templatesOfThisRun() ?? '/tmp', key, async (directory) => {
    await chown(directory, user.uid, user.gid);
    const words = ['--pgdata', join(directory, 'postgresql'), '--username', 'postgres', '--encoding', 'UTF8'];
    await promisify(execFile)(join(binaries, 'initdb'), [...words, '--locale', 'C.UTF-8'], {
      cwd: '/',
      ...user.spawnAs,
    });
    await prepare(directory);
  });
}

/** Runs the statements that `migrate` prints as a superuser, for a role that has privileges only in its own database. */
export async function provision({ connection }: Pick<StockPostgres, 'connection'>): Promise<void> {
  const superuser = new pg.Client({ ...connection, user: 'postgres', database: 'postgres' });
  await superuser.connect();
  try {
    await superuser.query(`create role ${SERVICE} login`);
    await superuser.query(`create database scratch owner ${SERVICE}`);
    const refused = await migrate({ ...connection, database: 'scratch' }).catch((error: unknown) => error);
    if (!(refused instanceof StartupProblem)) throw new Error(`migrate printed no statements: ${refused}`);
    const [statements] = /CREATE ROLE .*;/.exec(refused.message) ?? [];
    if (statements === undefined) throw new Error(`no statements in: ${refused.message}`);
    await superuser.query(statements);
    await superuser.query('drop database scratch');
    await superuser.query(`create database ${SERVICE} owner ${SERVICE}`);
  } finally {
    await superuser.end();
  }
}
