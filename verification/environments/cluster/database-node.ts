import { execFile } from 'node:child_process';
import { chown, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { findBinaries } from '../../../server/postgres/binaries.ts';
import {
  chooseServerUser,
  openSystemDirectory,
  type ServerUser,
  SYSTEM_DIRECTORY,
} from '../../../server/postgres/ledger-location.ts';
import { onConnection } from '../../../test/harness/ledger.ts';
import { PORT, PostgresServer, SERVICE } from '../../../test/harness/postgres/postgres-server.ts';
import { STOCK_BINARIES, stockPostgresIn, stopStockPostgresIn } from '../../../test/harness/postgres/stock-postgres.ts';
import { isRunning, waitFor } from '../../../test/harness/process.ts';
import { resumeTree, signal, suspendTree } from '../../nemeses/kill.ts';

const execute = promisify(execFile);

/** The timeout of a connection, in milliseconds. A killed machine does not respond. */
const TIMEOUT_MILLISECONDS = 5_000;

/** The directory of `initdb` and `postgres`: TEST_POSTGRES_BIN, or the embedded PostgreSQL. */
async function binariesFor(user: ServerUser, directory: string): Promise<string> {
  if (STOCK_BINARIES !== undefined) return STOCK_BINARIES;
  const copies = async () => (user.differs ? openSystemDirectory(SYSTEM_DIRECTORY, user) : directory);
  return dirname((await findBinaries(user, copies, () => undefined)).postgres);
}

/** One PostgreSQL of a pair, as if it had its own machine. It listens on a Unix socket, and does not restart after a kill. */
export class DatabaseNode {
  readonly name: string;
  readonly socket: string;
  readonly #files: string;
  readonly #server: PostgresServer;
  readonly #user: ServerUser;

  private constructor(name: string, directory: string, binaries: string, user: ServerUser) {
    this.name = name;
    this.socket = join(directory, 'socket');
    this.#files = join(directory, 'postgresql');
    this.#user = user;
    const postgres = join(binaries, 'postgres');
    this.#server = new PostgresServer(postgres, this.#files, this.socket, user, ['wal_keep_size=1GB']);
  }

  /** Creates two nodes in a directory: the first with an empty database for the service, the second without files. */
  static async pair(directory: string): Promise<readonly [DatabaseNode, DatabaseNode]> {
    const user = await chooseServerUser();
    const binaries = await binariesFor(user, directory);
    const first = join(directory, 'alpha');
    await stockPostgresIn(first, binaries);
    await stopStockPostgresIn(first);
    const second = join(directory, 'beta');
    await mkdir(join(second, 'socket'), { recursive: true });
    await chown(join(second, 'socket'), user.uid, user.gid);
    return [new DatabaseNode('alpha', first, binaries, user), new DatabaseNode('beta', second, binaries, user)];
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
    await rm(this.#files, { recursive: true, force: true });
    await copyRunning({ ...other.connection, user: 'postgres' }, other.#files, this.#files);
    await this.follow(link);
  }

  /** At the next start, becomes a standby of the server behind the link. Keeps its files. */
  async follow(link: string): Promise<void> {
    const lines = [
      `primary_conninfo = 'host=${link} port=${PORT} user=postgres application_name=${this.name}'`,
      'wal_retrieve_retry_interval = 100',
    ];
    await this.#write('postgresql.auto.conf', `${lines.join('\n')}\n`);
    await this.#write('standby.signal', '');
  }

  start(): Promise<void> {
    return this.#server.start();
  }

  /** Stops it as in a switchover: PostgreSQL waits until its standby has everything. */
  stop(): Promise<void> {
    return this.#server.end('SIGINT');
  }

  /** Ends all of its processes at the same time, like a power loss. */
  async kill(): Promise<void> {
    const { processId } = this.#server;
    if (processId === undefined) return;
    const all = await suspendTree(processId);
    const ended = this.#server.end('SIGKILL');
    for (const victim of all) signal(victim, 'SIGKILL');
    await ended;
    const areOver = async () => (await Promise.all(all.map(isRunning))).every((isLeft) => !isLeft);
    await waitFor(`all processes of ${this.name} are gone`, areOver);
  }

  /** Suspends all of its processes until `resume`, like the suspension of a machine. */
  async suspend(): Promise<void> {
    const { processId } = this.#server;
    if (processId !== undefined) await suspendTree(processId);
  }

  async resume(): Promise<void> {
    const { processId } = this.#server;
    if (processId !== undefined) await resumeTree(processId);
  }

  /** Queries as a superuser. */
  ask<Found extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<readonly Found[]> {
    const superuser = { ...this.connection, user: 'postgres', connectionTimeoutMillis: TIMEOUT_MILLISECONDS };
    return onConnection(superuser, async (client) => (await client.query<Found>(text, [...values])).rows);
  }

  async set(name: string, value: string): Promise<void> {
    await this.ask(`alter system set ${name} = '${value}'`);
    await this.ask('select pg_reload_conf()');
  }

  async #write(name: string, text: string): Promise<void> {
    const path = join(this.#files, name);
    await writeFile(path, text, { mode: 0o600 });
    await chown(path, this.#user.uid, this.#user.gid);
  }
}

/**
 * Makes a physical copy of a running server: starts a backup in PostgreSQL, copies the files, and then copies the WAL written in
 * the meantime. `superuser` connects as a superuser. `target` must not exist yet.
 */
function copyRunning(superuser: pg.ClientConfig, source: string, target: string): Promise<void> {
  return onConnection(superuser, async (client) => {
    await client.query("select pg_create_physical_replication_slot('backup', true)");
    await client.query("select pg_backup_start('campaign', true)");
    await mkdir(target);
    const left = ['./postmaster.pid', './postmaster.opts', './pg_wal/*', './pg_replslot/*'];
    // tar exits with 1 if a file changed while it was read. The WAL repairs that.
    const copy = `tar -C "$1" ${left.map((path) => `--exclude='${path}'`).join(' ')} -cf - . | tar -C "$2" -xpf -`;
    await execute('bash', ['-c', copy, 'copy', source, target]).catch((error: unknown) => {
      if (Reflect.get(error as object, 'code') !== 1) throw error;
    });
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    const label = join(target, 'backup_label');
    await writeFile(label, rows[0]?.labelfile ?? '', { mode: 0o600 });
    await execute('bash', ['-c', 'cp -a "$1"/pg_wal/[0-9A-F]* "$2"/pg_wal/', 'copy', source, target]);
    const { uid, gid } = await stat(source);
    await execute('chown', [`${uid}:${gid}`, label]);
    await client.query("select pg_drop_replication_slot('backup')");
  });
}
