import { constants } from 'node:fs';
import {
  access,
  chmod,
  chown,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { flushDirectory } from '../../foundation/data-directory.ts';
import { codeOf, diskFullProblem, isDiskFull, StartupProblem } from '../../foundation/startup-problem.ts';
import { findObstacle, type ServerUser } from '../ledger-location.ts';

/** A checked directory for backups. `wal` belongs to PostgreSQL's user, everything else to the service's user. */
export type BackupDirectory = {
  /** The real path. */
  readonly path: string;
  /** The directory of WAL files. PostgreSQL's archiver writes them. */
  readonly wal: string;
  /** The directory that contains a directory for each copy of the ledger's files. */
  readonly base: string;
  readonly user: ServerUser;
};

export const WAL_DIRECTORY = 'wal';
export const BASE_DIRECTORY = 'base';

/**
 * Checks BACKUP_DIR and creates its missing subdirectories. It does not create the directory itself: if a disk were not mounted,
 * the backups would be on the disk of the ledger.
 *
 * @param places real paths that must be separate from it: the data directory and the directory of PostgreSQL's files.
 * @throws StartupProblem if BACKUP_DIR cannot be used.
 */
export async function openBackupDirectory(
  asked: string,
  places: readonly string[],
  user: ServerUser,
): Promise<BackupDirectory> {
  const path = await findDirectory(asked);
  for (const place of places) requireApart(asked, path, place);
  const obstacle = await findObstacle(path, user);
  if (obstacle !== undefined) {
    throw refuse(
      asked,
      `PostgreSQL runs as ${user.name}, who cannot access it: ${obstacle} does not allow it. ` +
        `Run 'chmod o+x ${obstacle}', or set BACKUP_DIR to another directory`,
    );
  }
  const [wal, base] = [join(path, WAL_DIRECTORY), join(path, BASE_DIRECTORY)];
  try {
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    await makePrivate(wal);
    if (user.differs) await chown(wal, user.uid, user.gid);
    await makePrivate(base);
    await tryToWrite(base);
  } catch (error) {
    if (isDiskFull(error))
      throw diskFullProblem(`The directory for backups ${asked} (BACKUP_DIR) cannot be used`, error);
    throw refuse(asked, describeRefusal(codeOf(error)), error);
  }
  return { path, wal, base, user };
}

/** Returns the directory of a backup that will only be read, for example by a restore. */
export async function findBackupDirectory(
  asked: string,
  origin: string,
): Promise<{ readonly path: string; readonly wal: string; readonly base: string }> {
  try {
    const path = await realpath(resolve(asked));
    await readdir(join(path, BASE_DIRECTORY));
    await readdir(join(path, WAL_DIRECTORY));
    return { path, wal: join(path, WAL_DIRECTORY), base: join(path, BASE_DIRECTORY) };
  } catch (error) {
    const missing = codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';
    throw new StartupProblem(
      'restore-refused',
      missing
        ? `There is no backup in ${asked} (${origin}): it must be a directory with the directories base and wal.`
        : `The backup in ${asked} (${origin}) cannot be read (${codeOf(error) ?? String(error)}). Run the command as a user who can read it.`,
      { cause: error },
    );
  }
}

async function findDirectory(asked: string): Promise<string> {
  try {
    const path = await realpath(resolve(asked));
    if ((await stat(path)).isDirectory()) return path;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw refuse(asked, describeRefusal(codeOf(error)), error);
    throw refuse(asked, 'it does not exist. Mount its disk, or create it, and start again', error);
  }
  throw refuse(asked, 'it is not a directory. Set BACKUP_DIR to a directory');
}

/** Throws if one directory is inside the other, because both would be lost together. */
function requireApart(asked: string, path: string, place: string): void {
  const isIn = (inner: string, outer: string): boolean => `${inner}${sep}`.startsWith(`${outer}${sep}`);
  if (!isIn(path, place) && !isIn(place, path)) return;
  const relation = path === place ? 'it is' : isIn(path, place) ? 'it is inside' : 'it contains';
  throw refuse(
    asked,
    `${relation} ${place}, the directory of the ledger, and both would be lost together. ` +
      'Set BACKUP_DIR to a directory on another disk',
  );
}

async function makePrivate(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
    await chmod(path, 0o700);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    if (!(await lstat(path)).isDirectory())
      throw Object.assign(new Error(`${path} is not a directory`), { code: 'ENOTDIR' });
  }
}

/**
 * Tests the directory by writing a file, because permissions do not show whether a network file system allows it. The service
 * starts even if the disk is full.
 */
async function tryToWrite(directory: string): Promise<void> {
  const path = join(directory, `.try-${process.pid}`);
  try {
    const handle = await open(path, 'w', 0o600);
    await handle.close();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  } finally {
    await rm(path, { force: true });
  }
}

function describeRefusal(code: string | undefined): string {
  if (code === 'EACCES' || code === 'EPERM') {
    return 'the user of the service cannot read and write it. Give that user access to it, or set BACKUP_DIR to another directory';
  }
  if (code === 'EROFS') return 'it is on a read-only file system. Set BACKUP_DIR to another directory';
  if (code === 'ENOTDIR') return 'it, or part of its path, is not a directory. Set BACKUP_DIR to a directory';
  return `the operating system reports ${code ?? 'no reason'}. Check its disk, or set BACKUP_DIR to another directory`;
}

function refuse(asked: string, reason: string, cause?: unknown): StartupProblem {
  return new StartupProblem(
    'backup-directory-unusable',
    `The directory for backups ${asked} (BACKUP_DIR) cannot be used: ${reason}.`,
    { cause },
  );
}

/** Replaces the whole content of a small file. When this returns, the file is on disk. */
export async function writeWhole(path: string, text: string): Promise<void> {
  await rm(`${path}.new`, { force: true });
  const handle = await open(`${path}.new`, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${path}.new`, path);
  await flushDirectory(join(path, '..'));
}

export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
