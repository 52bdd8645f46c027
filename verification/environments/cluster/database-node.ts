import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { findBinaries } from '../../../server/postgres/binaries.ts';
import {
  chooseServerUser,
  openSystemDirectory,
  type ServerUser,
  SYSTEM_DIRECTORY,
} from '../../../server/postgres/ledger-location.ts';
import { STOCK_BINARIES, stockPostgresIn, stopStockPostgresIn } from '../../../test/harness/postgres/stock-postgres.ts';
import { isRunning, waitFor } from '../../../test/harness/process.ts';
import { copyRunning } from '../processes/physical-copy.ts';
import { processesBelow } from '../processes/process-tree.ts';

/** The `postgres` program and its user. */
type Programs = { readonly postgres: string; readonly user: ServerUser };

const SERVICE = 'transfer_service';
const PORT = 5432;

/** The timeout of a connection, in milliseconds. A killed machine does not respond. */
const TIMEOUT_MILLISECONDS = 5_000;

/** The directory of `initdb` and `postgres`: TEST_POSTGRES_BIN, or the embedded PostgreSQL. */
async function binariesFor(user: ServerUser, directory: string): Promise<string> {
  if (STOCK_BINARIES !== undefined) return STOCK_BINARIES;
  const copies = async () => (user.differs ? openSystemDirectory(SYSTEM_DIRECTORY, user) : directory);
  return dirname((await findBinaries(user, copies, () => undefined)).postgres);
}

/**
 * One PostgreSQL of a pair, as if it had its own machine. It listens on a Unix socket, and does not restart after a kill.
 */
export class DatabaseNode {
  readonly name: string;
  readonly directory: string;
  readonly #programs: Programs;
  #child: ChildProcess | undefined;

  private constructor(name: string, directory: string, programs: Programs) {
    this.name = name;
    this.directory = directory;
    this.#programs = programs;
  }

  /** Makes two nodes in a directory: the first with an empty database for the service, the second without files. */
  static async pair(directory: string): Promise<readonly [DatabaseNode, DatabaseNode]> {
    const user = await chooseServerUser();
    const binaries = await binariesFor(user, directory);
    const programs = { postgres: join(binaries, 'postgres'), user };
    const [first, second] = ['alpha', 'beta'].map((name) => new DatabaseNode(name, join(directory, name), programs));
    if (first === undefined || second === undefined) throw new Error('a node is missing');
    await stockPostgresIn(first.directory, binaries);
    await stopStockPostgresIn(first.directory);
    for (const { socket } of [first, second]) await ownedDirectory(socket, user);
    return [first, second];
  }

  get socket(): string {
    return join(this.directory, 'socket');
  }

  get files(): string {
    return join(this.directory, 'postgresql');
  }

  /** The output of PostgreSQL. */
  get log(): string {
    return join(this.directory, 'log');
  }

  /** Connects directly to the node, without a link. */
  get connection() {
    return { host: this.socket, port: PORT, user: SERVICE, database: SERVICE } as const;
  }

  /**
   * Copies a running server's files, to become its standby at the next start. It follows the server through the link whose
   * socket is in `link`.
   */
  async copyFrom(other: DatabaseNode, link: string): Promise<void> {
    await rm(this.files, { recursive: true, force: true });
    await copyRunning({ ...other.connection, user: 'postgres' }, other.files, this.files);
    await this.follow(link);
  }

  /** Keeps its files, and becomes a standby of the server behind a link at the next start. */
  async follow(link: string): Promise<void> {
    const lines = [
      `primary_conninfo = 'host=${link} port=${PORT} user=postgres application_name=${this.name}'`,
      'wal_retrieve_retry_interval = 100',
    ];
    await this.#write('postgresql.auto.conf', `${lines.join('\n')}\n`);
    await this.#write('standby.signal', '');
  }

  async start(): Promise<void> {
    const { postgres, user } = this.#programs;
    const log = openSync(this.log, 'a');
    const settings = { listen_addresses: '', unix_socket_directories: this.socket, wal_keep_size: '1GB' };
    const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(postgres, ['-D', this.files, ...words], {
      cwd: '/',
      env: { LC_ALL: 'C.UTF-8' },
      stdio: ['ignore', log, log],
      ...user.spawnAs,
    });
    closeSync(log);
    this.#child = child;
    await waitFor(`PostgreSQL of ${this.name} accepts connections`, async () => {
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended:\n${await readFile(this.log, 'utf8')}`);
      return this.ask('select 1').then(Boolean, () => false);
    });
  }

  /** Stops it as in a switchover: PostgreSQL waits until its standby has everything. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const ended = endOf(child);
    child.kill('SIGCONT');
    child.kill('SIGINT');
    await ended;
    this.#child = undefined;
  }

  /** Ends all of its processes at the same time, like a loss of power. */
  async kill(): Promise<void> {
    const { pid } = this.#child ?? {};
    if (this.#child === undefined || pid === undefined) return;
    const ended = endOf(this.#child);
    // A stopped main process starts no processes between the search and the kill.
    signal(pid, 'SIGSTOP');
    const below = await processesBelow(pid);
    for (const victim of [...below, pid]) signal(victim, 'SIGKILL');
    await ended;
    this.#child = undefined;
    const areOver = async () => (await Promise.all(below.map(isRunning))).every((isLeft) => !isLeft);
    await waitFor(`all processes of ${this.name} are gone`, areOver);
  }

  /** Suspends all of its processes until `thaw`, like the suspension of a machine. */
  async freeze(): Promise<void> {
    const { pid } = this.#child ?? {};
    if (pid === undefined) return;
    signal(pid, 'SIGSTOP');
    for (const victim of await processesBelow(pid)) signal(victim, 'SIGSTOP');
  }

  async thaw(): Promise<void> {
    const { pid } = this.#child ?? {};
    if (pid === undefined) return;
    for (const victim of [...(await processesBelow(pid)), pid]) signal(victim, 'SIGCONT');
  }

  /** Queries as a superuser. */
  async ask<Found extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<readonly Found[]> {
    const client = new pg.Client({
      ...this.connection,
      user: 'postgres',
      connectionTimeoutMillis: TIMEOUT_MILLISECONDS,
    });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Found>(text, [...values])).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async set(name: string, value: string): Promise<void> {
    await this.ask(`alter system set ${name} = '${value}'`);
    await this.ask('select pg_reload_conf()');
  }

  async #write(name: string, text: string): Promise<void> {
    const { uid, gid } = this.#programs.user;
    const path = join(this.files, name);
    await writeFile(path, text, { mode: 0o600 });
    await chown(path, uid, gid);
  }
}

async function ownedDirectory(path: string, { uid, gid }: ServerUser): Promise<void> {
  if (!existsSync(path)) await mkdir(path, { recursive: true });
  await chown(path, uid, gid);
}

function endOf(child: ChildProcess): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', resolve));
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Already ended.
  }
}
