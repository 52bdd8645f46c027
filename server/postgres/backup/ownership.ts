import { randomUUID } from 'node:crypto';
import { chown, copyFile, open, readdir, rename, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { parseJson } from '../../../domain/parse-json.ts';
import { StartupProblem } from '../../foundation/startup-problem.ts';
import type { LedgerLocation, ServerUser } from '../ledger-location.ts';
import { type BackupDirectory, openBackupDirectory, readIfThere, writeWhole } from './backup-directory.ts';
import { parseHistoryName, parseSegment } from './wal-files.ts';

// Invariant: Two ledgers never archive into one directory
// Kept by: an id per data directory, and timelines (`backup/ownership.ts`)
// Tested by: `test/embedded/backups.test.ts`

// If two ledgers archived into one directory, they would corrupt each other's backups. Ledgers that were restored from the same
// backup have the same PostgreSQL identifier, so each data directory also has an id.

/** The record of the archiving ledger in the backup directory. */
export type ArchiveState = {
  readonly format: 1;
  readonly systemIdentifier: string;
  /** The id of the data directory that archives. `host` and `dataDirectory` are only for people. */
  readonly owner: string;
  readonly host: string;
  readonly dataDirectory: string;
  /** When the owner was last active, in RFC 3339. Null if it was stopped and has released the directory. */
  readonly seenAt: string | null;
  readonly timeline: number;
  /** All commits until this time are in the archive. Null before the first file. RFC 3339. */
  readonly coveredUntil: string | null;
  /** The last WAL file that is needed to restore these commits. */
  readonly coveredSegment: string | null;
};

/** The record of a data directory about itself. */
type Owner = { readonly id: string; readonly directory: string };

const STATE_FILE = 'archive.json';
const OWNER_FILE = 'backup-owner.json';

/** How long an owner counts as alive after its last report: three times the interval between two reports. */
const ALIVE_MILLISECONDS = 90_000;

/** The offset of the timeline in global/pg_control of PostgreSQL 18. */
const TIMELINE_OFFSET = 48;

export async function readArchiveState(path: string): Promise<ArchiveState | undefined> {
  const text = await readIfThere(join(path, STATE_FILE));
  // Only this service writes the file, and it never leaves a partial one.
  return text === undefined ? undefined : (parseJson(text) as ArchiveState);
}

export async function writeArchiveState(path: string, state: ArchiveState): Promise<void> {
  await writeWhole(join(path, STATE_FILE), `${JSON.stringify(state, null, 2)}\n`);
}

/** Reads the identifier and the timeline from PostgreSQL's files. The server must have been stopped. */
export async function readControlFile(
  ledger: string,
): Promise<{ readonly systemIdentifier: string; readonly timeline: number }> {
  const handle = await open(join(ledger, 'global', 'pg_control'), 'r');
  try {
    const { buffer } = await handle.read(Buffer.alloc(TIMELINE_OFFSET + 4), 0, TIMELINE_OFFSET + 4, 0);
    return { systemIdentifier: buffer.readBigUInt64LE().toString(), timeline: buffer.readUInt32LE(TIMELINE_OFFSET) };
  } finally {
    await handle.close();
  }
}

/**
 * Throws {@link StartupProblem} if the service would create a new ledger although the directory contains backups of a ledger.
 */
async function refuseNewLedger({ path }: BackupDirectory, dataDirectory: string): Promise<void> {
  if ((await readArchiveState(path)) === undefined) return;
  throw new StartupProblem(
    'backup-directory-taken',
    `BACKUP_DIR, ${path}, has the backups of a ledger, but there is no ledger in ${dataDirectory}. ` +
      'To restore it there, run "npx transfer-service restore --to latest". If DATA_DIR is wrong, set it to the data ' +
      'directory of the ledger. For a new ledger, set BACKUP_DIR to an empty directory.',
  );
}

/**
 * Makes a ledger the owner of a backup directory. Call it before the ledger's server runs.
 *
 * @param dataDirectory the real path of the data directory.
 * @param ledger the real path of PostgreSQL's files.
 * @throws StartupProblem if the directory has backups of another ledger, or of another copy of this ledger that still archives.
 */
async function claimBackupDirectory(
  directory: BackupDirectory,
  dataDirectory: string,
  ledger: string,
): Promise<ArchiveState> {
  const { path } = directory;
  const { systemIdentifier, timeline } = await readControlFile(ledger);
  const state = await readArchiveState(path);
  const ownerFile = join(dataDirectory, OWNER_FILE);
  const ownerText = await readIfThere(ownerFile);
  const known = ownerText === undefined ? undefined : (parseJson(ownerText) as Owner);
  if (state === undefined) {
    if (known?.directory === path) throw describeEmptied(path, ownerFile);
  } else if (state.systemIdentifier !== systemIdentifier) {
    throw new StartupProblem(
      'backup-directory-taken',
      `BACKUP_DIR, ${path}, has the backups of another ledger. Set BACKUP_DIR to the directory of this ledger's backups, or to an empty one.`,
    );
  } else if (state.owner !== known?.id) {
    await requireFree(directory, state, timeline, dataDirectory);
  }
  const owner: Owner = { id: known?.id ?? randomUUID(), directory: path };
  await copyHistories(directory, ledger);
  if (known?.directory !== path) await writeWhole(ownerFile, `${JSON.stringify(owner)}\n`);
  const isSame = state !== undefined && state.timeline === timeline;
  const claimed: ArchiveState = {
    format: 1,
    systemIdentifier,
    owner: owner.id,
    host: hostname(),
    dataDirectory,
    // Only the job of the service reports that the owner is alive. A command must leave no report, because other processes would
    // wait for it to expire.
    seenAt: null,
    timeline,
    coveredUntil: isSame ? state.coveredUntil : null,
    coveredSegment: isSame ? state.coveredSegment : null,
  };
  await writeArchiveState(path, claimed);
  return claimed;
}

function describeEmptied(path: string, ownerFile: string): StartupProblem {
  return new StartupProblem(
    'backup-directory-unusable',
    `BACKUP_DIR, ${path}, has no backups, but this ledger has archived into it before. Mount its disk, or restore its ` +
      `files. If the backups are gone, remove ${ownerFile}: the next start takes a new copy.`,
  );
}

/**
 * Throws if a different ledger is still using the directory. A restored ledger replaces the previous ledger, unless the previous
 * ledger is still active.
 */
async function requireFree(
  { path, wal }: BackupDirectory,
  { seenAt, host, dataDirectory: other }: ArchiveState,
  timeline: number,
  dataDirectory: string,
): Promise<void> {
  const ago = seenAt === null ? Number.POSITIVE_INFINITY : Date.now() - Date.parse(seenAt);
  if (ago < -ALIVE_MILLISECONDS) {
    throw new StartupProblem(
      'backup-directory-taken',
      `BACKUP_DIR, ${path}, is in use by the ledger in ${other} on ${host}, which archived into it at ${seenAt}. By this machine's clock, that is in the future, ` +
        `so it is not known whether that ledger is still archiving. Correct the clock that is wrong. If the service of the other ledger was killed, set "seenAt" in ${join(path, STATE_FILE)} to null ` +
        'once you are sure that it is not running; otherwise set BACKUP_DIR to another directory, or unset it for a trial.',
    );
  }
  if (ago < ALIVE_MILLISECONDS) {
    throw new StartupProblem(
      'backup-directory-taken',
      `BACKUP_DIR, ${path}, is in use by the ledger in ${other} on ${host}, which archived into it ${Math.max(0, Math.round(ago / 1000))} s ago. ` +
        `If the ledger in ${dataDirectory} is to take its place, stop the service of the other one and start again; if it was killed, wait ${ALIVE_MILLISECONDS / 1000} s. ` +
        'Otherwise set BACKUP_DIR to another directory, or unset it for a trial.',
    );
  }
  const names = await readdir(wal);
  if (!names.some((name) => parseSegment(name)?.timeline === timeline)) return;
  throw new StartupProblem(
    'backup-directory-taken',
    `BACKUP_DIR, ${path}, already has the WAL that the ledger in ${other} on ${host} wrote on timeline ${timeline}, and the ledger ` +
      `in ${dataDirectory} is another one on the same timeline. Set BACKUP_DIR to an empty directory; or, if it is the same ledger ` +
      `and was moved, copy ${OWNER_FILE} from its former data directory.`,
  );
}

/**
 * Copies the histories of timelines. Usually, PostgreSQL archives a history when the timeline begins, but a restore begins a
 * timeline without archiving.
 */
async function copyHistories({ wal, user }: BackupDirectory, ledger: string): Promise<void> {
  const source = join(ledger, 'pg_wal');
  for (const name of await readdir(source)) {
    if (parseHistoryName(name) === undefined) continue;
    const [own, archived] = [await readIfThere(join(source, name)), await readIfThere(join(wal, name))];
    if (own === archived) continue;
    if (archived !== undefined) {
      throw new StartupProblem(
        'backup-directory-taken',
        `BACKUP_DIR already has another ${name}, of another ledger that was restored from the same backup. ` +
          'Set BACKUP_DIR to an empty directory, or restore again: a restore begins a timeline that is not in the backup.',
      );
    }
    const temporary = join(wal, `.${name}.new`);
    await rm(temporary, { force: true });
    await copyFile(join(source, name), temporary);
    if (user.differs) await chown(temporary, user.uid, user.gid);
    await rename(temporary, join(wal, name));
  }
}

export type ClaimedArchive = { readonly directory: BackupDirectory; readonly state: ArchiveState };

export type OpenArchive = {
  /** Makes the ledger the owner of the directory. Call it when the ledger exists, but before its server runs. */
  readonly claim: () => Promise<ClaimedArchive>;
};

/**
 * Checks BACKUP_DIR before any work for a ledger. Returns undefined if it is not set.
 *
 * @param dataDirectory the real path of the data directory.
 * @throws StartupProblem if the ledger cannot be backed up there.
 */
export async function openArchive(
  asked: string | null,
  dataDirectory: string,
  location: LedgerLocation,
  user: ServerUser,
): Promise<OpenArchive | undefined> {
  if (asked === null) return undefined;
  const directory = await openBackupDirectory(asked, [dataDirectory, location.dataDirectory], user);
  if (!location.exists) await refuseNewLedger(directory, dataDirectory);
  return {
    claim: async () => ({
      directory,
      state: await claimBackupDirectory(directory, dataDirectory, location.dataDirectory),
    }),
  };
}

export function archiveSettings({ wal }: BackupDirectory): Record<string, string> {
  return {
    archive_mode: 'on',
    // This library uses no shell, and flushes the file to disk before PostgreSQL may remove its own copy.
    archive_library: 'basic_archive',
    'basic_archive.archive_directory': wal,
    // Usually, the service itself ends WAL files more often. This setting applies when it cannot.
    archive_timeout: '60s',
  };
}
