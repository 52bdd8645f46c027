import { mkdir, readdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import {
  DataDirectoryInUse,
  type DataDirectoryLock,
  flushDirectory,
  lockDataDirectory,
  makeDirectories,
} from '../../foundation/data-directory.ts';
import { diskFullProblem, isDiskFull, StartupProblem } from '../../foundation/startup-problem.ts';
import { connectAsSuperuser } from '../postgres-server.ts';
import { isArchived } from './archive.ts';
import { copyLedgerFiles, Pace, writeFileWhole } from './copy-files.ts';
import {
  copyName,
  FILES_DIRECTORY,
  MANIFEST_FILE,
  MANIFEST_SUM_FILE,
  type Manifest,
  segmentsOf,
  sumOf,
  UNFINISHED,
} from './manifest.ts';
import { parseSegment, segmentName } from './wal-files.ts';

// Invariant: A copy of the ledger counts only if it is complete, on disk and restorable
// Kept by: a temporary name until its WAL is archived (`backup/base-copy.ts`), a manifest with its own checksum
// Tested by: `test/embedded/backup-failures.test.ts`

export type CopySource = {
  /** The directory of the socket of the ledger's server. */
  readonly socketDirectory: string;
  /** The service's data directory. It contains the lock for copies. */
  readonly dataDirectory: string;
  readonly wal: string;
  readonly base: string;
};

export type CopyOptions = {
  /** Whether the checkpoint at the beginning is written immediately. Otherwise, it takes minutes, like other checkpoints. */
  readonly fast: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (line: string) => void;
  readonly bytesPerSecond?: number;
  readonly archiveTimeoutMilliseconds?: number;
};

/** A quarter of the speed of a modest disk. At this rate, 100 GB take an hour, and transfers are not affected. */
const BYTES_PER_SECOND = 32 * 1_048_576;

/**
 * The maximum wait until the copy's WAL is archived. Without this WAL, the copy could not be restored. The wait is longer than
 * the archiver's pause before it tries again.
 */
const ARCHIVE_TIMEOUT_MILLISECONDS = 180_000;
const LOOK_MILLISECONDS = 200;

const LOCK_DIRECTORY = 'backup-lock';

/**
 * Takes a copy of the ledger's files while the ledger is in use. The result is a complete copy on disk, with the WAL that it needs,
 * or no copy.
 *
 * @returns its name and its contents.
 * @throws StartupProblem that says what the operator can do.
 */
export async function takeCopy(
  source: CopySource,
  options: CopyOptions,
): Promise<{ name: string; manifest: Manifest }> {
  const lock = await lockCopies(source.dataDirectory);
  try {
    await removeUnfinished(source.base);
    const client = await connectAsSuperuser(source.socketDirectory);
    try {
      return await copyThrough(client, source, options);
    } finally {
      // If pg_backup_stop was not called, the end of the session ends the backup.
      await client.end().catch(() => undefined);
    }
  } catch (error) {
    await removeUnfinished(source.base).catch(() => undefined);
    if (isDiskFull(error)) throw diskFullProblem(`No copy of the ledger can be stored in ${source.base}`, error);
    throw error;
  } finally {
    lock.release();
  }
}

/** Another process is taking a copy or removing old copies. */
export class CopyInProgress extends StartupProblem {
  constructor(processId: number | undefined) {
    const who = processId === undefined ? 'Another process' : `Process ${processId}`;
    super('backup-failed', `${who} is already taking a copy of the ledger. Try again when it has finished.`);
  }
}

/** Taking a copy takes minutes. Finding and removing old copies takes a moment. */
export type LockTask = 'backup' | 'retention';

/** How long a process waits while another process removes old copies, in milliseconds. */
const RETENTION_MILLISECONDS = 60_000;

/**
 * Locks the copies, so that only one process at a time takes copies or removes old ones. Waits while another process removes old
 * copies.
 *
 * @throws CopyInProgress if another process is taking a copy.
 */
export async function lockCopies(dataDirectory: string, task: LockTask = 'backup'): Promise<DataDirectoryLock> {
  const directory = join(dataDirectory, LOCK_DIRECTORY);
  await makeDirectories(directory, 0o700);
  const deadline = performance.now() + RETENTION_MILLISECONDS;
  for (;;) {
    try {
      return await lockDataDirectory(directory, directory, task);
    } catch (error) {
      if (!(error instanceof DataDirectoryInUse)) throw error;
      const { owner } = error;
      if (owner?.task !== 'retention' || performance.now() > deadline) throw new CopyInProgress(owner?.processId);
    }
    await sleep(LOOK_MILLISECONDS);
  }
}

async function copyThrough(
  client: Client,
  { wal, base }: CopySource,
  options: CopyOptions,
): Promise<{ name: string; manifest: Manifest }> {
  const { fast, signal, onProgress = () => undefined, bytesPerSecond = BYTES_PER_SECOND } = options;
  const server = await describeServer(client, wal);
  await requireRoom(base, server.bytes);
  const { position: startPosition, time: startedAt } = await startBackup(client, fast);
  const name = copyName(startedAt);
  const temporary = join(base, `${UNFINISHED}${name}`);
  const files = join(temporary, FILES_DIRECTORY);
  await mkdir(files, { recursive: true, mode: 0o700 });
  const pace = new Pace(bytesPerSecond, signal);
  onProgress(`Copying the ledger, about ${inMegabytes(server.bytes)} MB, to ${join(base, name)}.`);
  const progress = setInterval(() => onProgress(`Copied ${inMegabytes(pace.bytes)} MB.`), 10_000).unref();
  const copied = await copyLedgerFiles(server.directory, files, pace).finally(() => clearInterval(progress));
  const stop = await stopBackup(client);
  const label = [
    'backup_label',
    ...(await writeFileWhole(join(files, 'backup_label'), Buffer.from(stop.label))),
  ] as const;
  const allFiles = [...copied.files, label];
  const manifest: Manifest = {
    format: 1,
    systemIdentifier: server.systemIdentifier,
    postgresVersion: server.version,
    timeline: stop.timeline,
    startPosition,
    stopPosition: stop.position,
    startedAt: startedAt.toISOString(),
    endedAt: stop.time.toISOString(),
    bytes: allFiles.reduce((sum, [, bytes]) => sum + bytes, 0),
    directories: copied.directories,
    files: allFiles,
  };
  const text = `${JSON.stringify(manifest)}\n`;
  await writeFileWhole(join(temporary, MANIFEST_FILE), Buffer.from(text));
  await writeFileWhole(join(temporary, MANIFEST_SUM_FILE), Buffer.from(`${sumOf(text)}\n`));
  for (const directory of copied.directories) await flushDirectory(join(files, directory));
  await flushDirectory(files);
  await flushDirectory(temporary);
  await waitUntilArchived(client, wal, manifest, options);
  await rename(temporary, join(base, name));
  await flushDirectory(base);
  return { name, manifest };
}

type ServerFacts = {
  readonly directory: string;
  readonly systemIdentifier: string;
  readonly version: number;
  readonly bytes: number;
};

/** Throws {@link StartupProblem} if the server does not archive into this directory. */
async function describeServer(client: Client, wal: string): Promise<ServerFacts> {
  const { rows } = await client.query<{
    mode: string;
    archive: string | null;
    directory: string;
    identifier: string;
    version: number;
    bytes: string;
  }>(`select current_setting('archive_mode') as mode,
      current_setting('basic_archive.archive_directory', true) as archive,
      current_setting('data_directory') as directory,
      (select system_identifier::text from pg_control_system()) as identifier,
      current_setting('server_version_num')::integer / 10000 as version,
      (select sum(pg_database_size(oid)) from pg_database)::text as bytes`);
  const [found] = rows;
  if (found === undefined) throw new Error('the server has no settings');
  if (found.mode !== 'on' || found.archive !== wal) {
    const now = found.mode === 'on' ? `archives into ${found.archive}` : 'does not archive its WAL';
    throw new StartupProblem(
      'backup-failed',
      `The PostgreSQL of the ledger ${now}, but BACKUP_DIR needs ${wal}: the service that runs it was started with another ` +
        'BACKUP_DIR. Restart the service with the same BACKUP_DIR as this command.',
    );
  }
  return {
    directory: found.directory,
    systemIdentifier: found.identifier,
    version: found.version,
    bytes: Number(found.bytes),
  };
}

/**
 * Throws {@link StartupProblem} if there is too little room. Otherwise the copy would fill the disk, and then the archiver would
 * fail, too.
 */
async function requireRoom(base: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(base);
  const free = bavail * bsize;
  if (free >= bytes) return;
  throw diskFullProblem(
    `A copy of the ledger has about ${inMegabytes(bytes)} MB, and ${base} has ${inMegabytes(free)} MB free`,
  );
}

async function startBackup(client: Client, fast: boolean): Promise<{ position: string; time: Date }> {
  const { rows } = await client.query<{ position: string; time: Date }>(
    'select pg_backup_start($1, $2)::text as position, clock_timestamp() as time',
    ['transfer-service backup', fast],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('pg_backup_start returned nothing');
  return row;
}

type Stop = { readonly position: string; readonly label: string; readonly time: Date; readonly timeline: number };

/** Ends the backup. The time is read afterwards, because a recovery must not stop before the end of the backup. */
async function stopBackup(client: Client): Promise<Stop> {
  const { rows } = await client.query<{ position: string; label: string }>(
    'select lsn::text as position, labelfile as label from pg_backup_stop(false)',
  );
  const now = await client.query<{ time: Date; file: string }>(
    'select clock_timestamp() as time, pg_walfile_name(pg_current_wal_lsn()) as file',
  );
  const [stop, after] = [rows[0], now.rows[0]];
  const timeline = parseSegment(after?.file ?? '')?.timeline;
  if (stop === undefined || after === undefined || timeline === undefined)
    throw new Error('pg_backup_stop returned nothing');
  // Rounded up, because PostgreSQL's clock counts microseconds.
  return { ...stop, time: new Date(after.time.getTime() + 1), timeline };
}

async function waitUntilArchived(
  client: Client,
  wal: string,
  manifest: Manifest,
  { signal, archiveTimeoutMilliseconds = ARCHIVE_TIMEOUT_MILLISECONDS }: CopyOptions,
): Promise<void> {
  const { first, last } = segmentsOf(manifest);
  const deadline = performance.now() + archiveTimeoutMilliseconds;
  for (let number = first; number <= last; ) {
    signal?.throwIfAborted();
    const file = segmentName({ timeline: manifest.timeline, number });
    if (await isArchived(wal, file)) number += 1;
    else if (performance.now() < deadline) await sleep(LOOK_MILLISECONDS, undefined, signal && { signal });
    else throw await describeMissing(client, wal, file);
  }
}

async function describeMissing(client: Client, wal: string, file: string): Promise<StartupProblem> {
  const { rows } = await client.query<{ failed: string | null }>(
    'select last_failed_wal as failed from pg_stat_archiver where last_failed_time > coalesce(last_archived_time, to_timestamp(0))',
  );
  const why = rows[0]?.failed
    ? `PostgreSQL fails to archive ${rows[0].failed}; its log says why`
    : 'PostgreSQL has not archived it';
  const { bavail, bsize } = await statfs(wal);
  if (bavail * bsize < 33_554_432) return diskFullProblem(`The WAL of the copy, ${file}, cannot be archived in ${wal}`);
  return new StartupProblem(
    'backup-failed',
    `The copy was abandoned, because it cannot be restored without the WAL file ${file}, which did not arrive in ${wal} in time: ${why}. Check that the user of PostgreSQL can write there.`,
  );
}

/** Removes everything that a killed process left behind. The caller must hold the lock of the copies. */
async function removeUnfinished(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    if (name.startsWith(UNFINISHED)) await rm(join(base, name), { recursive: true, force: true, maxRetries: 3 });
  }
}

export function inMegabytes(bytes: number): string {
  return Math.ceil(bytes / 1_000_000).toLocaleString('en-US');
}
