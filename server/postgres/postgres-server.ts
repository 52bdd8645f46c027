import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { chown, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { flushDirectory } from '../foundation/data-directory.ts';
import { codeOf, diskFullProblem, isDiskFull, StartupProblem, sayWhileWaiting } from '../foundation/startup-problem.ts';
import type { PostgresBinaries } from './binaries.ts';
import type { ServerUser } from './ledger-location.ts';

export type ServerSetup = {
  binaries: PostgresBinaries;
  dataDirectory: string;
  socketDirectory: string;
  user: ServerUser;
  serverLog: string;
  /** Settings that are added to the settings of every server, or replace them. */
  settings?: Readonly<Record<string, string>>;
};

export type ServerProcess = {
  child: ChildProcess;
  /** Resolves when the process has ended or could not be started, to a sentence that says how. Never rejects. */
  exited: Promise<string>;
};

/** The name of the service's role, and of its database. */
export const SERVICE_NAME = 'transfer_service';
/** The port is only part of the socket's file name. The server does not listen on a network. */
export const SERVER_PORT = 5432;
const SUPERUSER = 'postgres';
const IDENTITY_MAP = 'transfer_service';
const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC' };

/** The SQLSTATEs of a server that is alive but not ready, because it is starting, recovering or shutting down. */
const NOT_READY_CODES = new Set(['57P03', 'ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE']);
/** The SQLSTATE of a server without a free connection, for example because the pools reconnected first. */
const TOO_MANY_CONNECTIONS = '53300';

/**
 * Returns the server's settings, each with its reason. They are on the command line, so they change with every upgrade of the
 * service. Also, postgresql.conf and ALTER SYSTEM cannot weaken the settings that keep committed money on disk.
 */
function settingsFor(socketDirectory: string): Record<string, string> {
  return {
    // Only processes on this machine can reach the server, through the private directory of the socket.
    listen_addresses: '',
    unix_socket_directories: `"${socketDirectory}"`,
    unix_socket_permissions: '0700',
    port: String(SERVER_PORT),
    // Confirmed transfers must survive a power failure, so never trade these settings for speed.
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    // Enough for backups and a standby, so that an operator can add a standby without a restart.
    wal_level: 'replica',
    // Enough for a small ledger, and small enough for a machine with 1 GB.
    shared_buffers: '256MB',
    // Each process reads for itself, as before PostgreSQL 18. If the pages are in memory, I/O workers gain little. With them, a
    // recovery after a crash once seemed to wait forever (README.md).
    io_method: 'sync',
    // In containers that limit huge pages, an attempt to use them can end in SIGBUS.
    huge_pages: 'off',
    // Enough for the pools of three service processes at once (at most 27 each), the background work, and a person with psql.
    max_connections: '100',
    // After a checkpoint, each page is written to the WAL in full once more. So load must not force a checkpoint every few
    // seconds.
    max_wal_size: '4GB',
    // These full pages are not compressed, because this build only has pglz, and compressing them with pglz takes longer than
    // writing them.
    wal_compression: 'off',
    // Vacuum marks each page of new rows once. Before the next checkpoint, that costs little. After it, the mark makes PostgreSQL
    // write the page to the WAL in full. So vacuum must run soon, and not only when a fifth of a large table is new.
    autovacuum_naptime: '10s',
    autovacuum_vacuum_insert_threshold: '10000',
    autovacuum_vacuum_insert_scale_factor: '0',
    // After a crash, all writes since the last checkpoint are replayed. During that time, the service returns errors.
    checkpoint_timeout: '5min',
    // Compiling a statement takes longer than running any statement of the service.
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // The log collector rotates by size but never removes or truncates files. So the supervisor limits the single file instead.
    log_destination: 'stderr',
    logging_collector: 'off',
    log_line_prefix: '%m [%p] ',
    // The details of a failed statement quote the row, and rows contain text that customers wrote. So details must not be logged.
    log_error_verbosity: 'terse',
    log_parameter_max_length_on_error: '0',
    lc_messages: 'C',
    // Distinguishes the servers in the list of processes.
    cluster_name: 'transfer-service',
  };
}

/** Starts the server in its own process group, so that Ctrl-C in a terminal reaches only the service. */
export function spawnServer(setup: ServerSetup): ServerProcess {
  const settings = Object.entries({ ...settingsFor(setup.socketDirectory), ...setup.settings }).flatMap(
    ([name, value]) => ['-c', `${name}=${value}`],
  );
  const log = openSync(setup.serverLog, 'a', 0o600);
  try {
    const child = spawn(setup.binaries.postgres, ['-D', setup.dataDirectory, ...settings], {
      cwd: '/',
      detached: true,
      env: ENVIRONMENT,
      stdio: ['ignore', log, log],
      ...setup.user.spawnAs,
    });
    const exited = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(`PostgreSQL could not be started: ${error.message}`));
      child.once('exit', (code, signal) => {
        const how = signal ? `was ended by ${signal}` : `ended with status ${code}`;
        resolve(`PostgreSQL (process ${child.pid}) ${how}`);
      });
    });
    return { child, exited };
  } finally {
    closeSync(log);
  }
}

/**
 * Creates the data directory of a new ledger. `initdb` works under a temporary name, so the directory is never partial.
 *
 * @param home the directory that contains it, which the caller has locked.
 * @throws StartupProblem with the last message of `initdb` if that fails.
 */
export async function createDataDirectory(home: string, binaries: PostgresBinaries, user: ServerUser): Promise<void> {
  const temporary = join(home, `postgresql.new-${randomBytes(6).toString('hex')}`);
  try {
    await mkdir(temporary, { mode: 0o700 });
    if (user.differs) await chown(temporary, user.uid, user.gid);
    const locale = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--encoding=UTF8'];
    const access = ['--auth-local=peer', '--auth-host=reject', '--username', SUPERUSER];
    const settings = ['--data-checksums', '--set', 'huge_pages=off', '--set', 'timezone=UTC'];
    await promisify(execFile)(binaries.initdb, ['--pgdata', temporary, ...locale, ...access, ...settings], {
      cwd: '/',
      env: ENVIRONMENT,
      ...user.spawnAs,
    });
    await rename(temporary, join(home, 'postgresql'));
    await flushDirectory(home);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true, maxRetries: 3 });
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
    if (isDiskFull(error) || isDiskFull(output))
      throw diskFullProblem(`A new ledger cannot be created in ${home}`, error);
    const words = lastReasonIn(output);
    const reason = words ?? codeOf(error) ?? String(error);
    const advice = 'Fix this, set DATA_DIR to another directory, or set DATABASE_URL.';
    throw new StartupProblem(
      'embedded-postgres-failed',
      `A new ledger cannot be created in ${home}: ${reason}. ${advice}`,
      { cause: error },
    );
  }
}

/**
 * Removes unfinished directories that remain if a process is killed during `initdb`. The caller must hold the lock of `home`.
 */
export async function removeUnfinishedDataDirectories(home: string): Promise<void> {
  for (const entry of await readdir(home)) {
    if (!/^postgresql\.new-[0-9a-f]{12}$/.test(entry)) continue;
    await rm(join(home, entry), { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * Writes the rules for access: processes of the service's user and of the server's user may connect as any role. The kernel
 * identifies them, so there is no password that could be lost.
 */
export async function writeAccessRules(dataDirectory: string, user: ServerUser): Promise<void> {
  const heading = '# Written by the Transfer Service at each start of PostgreSQL.';
  const names = [...new Set([user.serviceName, user.name])];
  const identities = names.map((name) => `${IDENTITY_MAP} "${name}" all`);
  const rules = { 'pg_hba.conf': [`local all all peer map=${IDENTITY_MAP}`], 'pg_ident.conf': identities };
  for (const [name, lines] of Object.entries(rules)) {
    const path = join(dataDirectory, name);
    // The file is not overwritten: as root, that would follow a link that the server's user may have put there.
    await rm(`${path}.new`, { force: true });
    await writeFile(`${path}.new`, `${[heading, ...lines].join('\n')}\n`, { flag: 'wx', mode: 0o644 });
    await chown(`${path}.new`, user.uid, user.gid);
    await rename(`${path}.new`, path);
  }
}

/**
 * Connects as the superuser, which the access rules permit for the service's user. Waits for a slow server. If the server ends,
 * its socket closes, and that ends the attempt.
 */
export async function connectAsSuperuser(socketDirectory: string, database: string = SUPERUSER): Promise<Client> {
  const client = new Client({
    host: socketDirectory,
    port: SERVER_PORT,
    user: SUPERUSER,
    database,
    ssl: false,
    application_name: 'transfer-service launcher',
  });
  // Without a listener, Node would end the service when the server drops this connection.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return client;
}

export type Waiting = {
  /** Ends the wait without an error when the server process has ended or is no longer wanted. */
  signal: AbortSignal;
  /**
   * Whether every error means "not yet". Failing early is useful only at the first start. Every later start must succeed in the
   * end.
   */
  isPatient: boolean;
  onProgress: (line: string) => void;
  everyMilliseconds?: number;
};

/**
 * Waits until the server accepts connections, even if its recovery is slow.
 *
 * @returns whether it accepts them.
 * @throws the server's answer if it does not mean "not yet" and the wait is not patient.
 */
export async function waitUntilAccepting(socketDirectory: string, waiting: Waiting): Promise<boolean> {
  const say = (seconds: number): void => waiting.onProgress(`PostgreSQL is still starting (${seconds} s).`);
  return sayWhileWaiting(say, () => tryUntilAccepting(socketDirectory, waiting), waiting.everyMilliseconds);
}

async function tryUntilAccepting(socketDirectory: string, { signal, isPatient }: Waiting): Promise<boolean> {
  const begun = performance.now();
  while (!signal.aborted) {
    try {
      const client = await connectAsSuperuser(socketDirectory);
      await client.end();
      return true;
    } catch (error) {
      if (codeOf(error) === TOO_MANY_CONNECTIONS) return true;
      if (!isPatient && !meansNotYet(error) && !signal.aborted) throw error;
    }
    const waited = performance.now() - begun;
    await sleep(waited < 1_000 ? 20 : 200, undefined, { signal }).catch(() => undefined);
  }
  return false;
}

/**
 * Returns whether an error means "not yet". If a connection attempt timed out or was dropped, the error has no code, only a
 * message.
 */
function meansNotYet(error: unknown): boolean {
  if (NOT_READY_CODES.has(codeOf(error) ?? '')) return true;
  return error instanceof Error && /timeout|terminated/i.test(error.message);
}

/**
 * Creates the service's role and database if they are missing. A kill between any two steps does no harm.
 *
 * The role is not a superuser. It may create the roles for the parts of the service.
 */
export async function provision(socketDirectory: string): Promise<void> {
  const client = await connectAsSuperuser(socketDirectory);
  try {
    const roles = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [SERVICE_NAME]);
    if (roles.rowCount === 0) await client.query(`CREATE ROLE ${SERVICE_NAME} LOGIN NOSUPERUSER CREATEROLE`);
    const databases = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [SERVICE_NAME]);
    if (databases.rowCount === 0) await client.query(`CREATE DATABASE ${SERVICE_NAME} OWNER ${SERVICE_NAME}`);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Matches the log lines of a starting or stopping server about clients that connect too early or too late. */
const NOT_READY_ANSWER = /FATAL: +the database system is /;

/** Returns the last line of a log that gives a reason, without its prefix. If there are fatal lines, returns the last of them. */
export function lastReasonIn(log: string): string | undefined {
  const lines = log
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !NOT_READY_ANSWER.test(line));
  const fatal = lines.findLast((line) => /\b(FATAL|PANIC): /.test(line));
  const telling = fatal ?? lines.findLast((line) => /\berror\b/i.test(line)) ?? lines.at(-1);
  return telling?.replace(/^.*\b(FATAL|PANIC|ERROR|LOG):\s+/, '').replace(/\.$/, '');
}
