import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, afterEach } from 'vitest';
import { lockCopies } from '../../server/postgres/backup/base-copy.ts';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../server/postgres/embedded-postgres.ts';
import { waitFor } from '../harness/process.ts';

export type Owner = {
  process: ChildProcess;
  won: boolean;
  message?: string;
  serverProcessId?: number;
  connection?: EmbeddedPostgres['connection'];
};

/** Whether the tests run as root. If they do, PostgreSQL runs as another user. */
export const isRoot = process.getuid?.() === 0;

const made: string[] = [];
const owners: ChildProcess[] = [];
const servers: EmbeddedPostgres[] = [];

/**
 * Creates a directory that the server's user can enter, unless the mode forbids it. It is removed at the end of the
 * test.
 */
export async function makeDirectory(mode = 0o711): Promise<string> {
  const path = await mkdtemp('/tmp/transfer-service-test-');
  made.push(path);
  await chmod(path, mode);
  return path;
}

/**
 * Copies a backup while its service is running. Leaves out the archive's temporary files, because they may vanish
 * during the copy.
 */
export async function copyBackup(from: string, to: string): Promise<void> {
  await promisify(execFile)('sh', [
    '-c',
    'mkdir "$2" && tar --create --directory "$1" --exclude "archtemp.*" . | tar --extract --preserve-permissions --directory "$2"',
    'copy',
    from,
    to,
  ]);
}

let template: Promise<string> | undefined;

/** Creates a data directory with an empty ledger by copying a template, which takes a tenth of the time. */
export async function makeLedger(): Promise<string> {
  template ??= makeTemplate();
  const path = await makeDirectory();
  await promisify(execFile)('cp', ['-a', `${await template}/.`, path]);
  return path;
}

async function makeTemplate(): Promise<string> {
  const path = await mkdtemp('/tmp/transfer-service-template-');
  await chmod(path, 0o711);
  await (await startEmbeddedPostgres({ dataDirectory: path })).stop();
  return path;
}

export async function start(
  dataDirectory: string,
  options: Partial<EmbeddedPostgresOptions> = {},
): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDirectory, ...options });
  servers.push(postgres);
  return postgres;
}

/** Starts owner.ts and waits for its report. */
export async function runOwner(
  what: 'lock' | 'start',
  dataDirectory: string,
  systemDirectory = '',
  checkout = join(import.meta.dirname, '..', '..'),
): Promise<Owner> {
  const script = join(checkout, 'test', 'embedded', 'owner.ts');
  const child = spawn(process.execPath, [script, what, dataDirectory, systemDirectory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  owners.push(child);
  for await (const line of createInterface({ input: child.stdout })) return { process: child, ...JSON.parse(line) };
  throw new Error('The owner ended without a report');
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}

/** Cleans up after each test and at the end of the file. Call this once per file, outside its tests. */
export function cleanUpAfterTests(): void {
  afterEach(cleanUp);
  afterAll(async () => {
    if (template) await rm(await template, { recursive: true, force: true });
    // The next file may run in the same process.
    template = undefined;
  });
}

/** Stops processes that a test left running, then removes its directories. */
async function cleanUp(): Promise<void> {
  for (const server of servers.splice(0)) await server.stop();
  for (const owner of owners.splice(0)) await kill(owner);
  for (const path of made.splice(0)) {
    // -R does not follow symbolic links.
    await promisify(execFile)('chmod', ['-R', 'u+rwX', path]).catch(() => undefined);
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Runs statements on a separate connection, and returns the rows of the last one. */
export async function query(
  postgres: Pick<EmbeddedPostgres, 'connection'>,
  ...statements: string[]
): Promise<Record<string, unknown>[]> {
  const client = new Client(postgres.connection);
  client.on('error', () => undefined);
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Statements that create a table with one row, and the query that reads it. */
export const WRITE = ['CREATE TABLE kept (value integer)', 'INSERT INTO kept VALUES (42)'];
export const READ = 'SELECT value FROM kept';

/**
 * Waits until no process copies the ledger. A copy is listed as finished a moment before its process releases the lock.
 */
export function untilCopyEnds(dataDirectory: string): Promise<void> {
  return waitFor('the end of the copy', async () => {
    const lock = await lockCopies(dataDirectory).catch(() => undefined);
    lock?.release();
    return lock !== undefined;
  });
}
