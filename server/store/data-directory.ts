import { closeSync, constants, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { access, chmod, mkdir, realpath, stat } from 'node:fs/promises';
import { hostname, userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, diskFullProblem, isDiskFull, StartupProblem } from '../startup-problem.ts';
import { processExists } from './embedded-processes.ts';

/** The right to use a data directory; no other process has it until `release` is called or this process ends. */
export type DataDirectoryLock = { release(): void };

type Owner = { processId: number; host: string };

const LOCK_FILE = 'lock';
const OWNER_FILE = 'lock-owner.json';
const SQLITE_BUSY = 5;

/** A new owner writes its name right after taking the lock; a reader that came in between waits this long for it. */
const OWNER_WAIT_MILLISECONDS = 1_000;

/** Keeps the handles of held locks reachable: a collected handle would be closed, and the lock lost with it. */
const heldLocks = new Set<DatabaseSync>();

/**
 * Makes a data directory if it is missing and proves that this process can work in it.
 *
 * @param openToOthers whether directories made here let other users pass (never list), which a server that runs as
 *   another user needs. Directories that exist already keep their permissions.
 * @returns the real path, free of symbolic links.
 * @throws StartupProblem when it is no directory, or cannot be made, read or written.
 */
export async function openDataDirectory(asked: string, openToOthers: boolean): Promise<string> {
  const path = resolve(asked);
  try {
    await makeDirectories(path, openToOthers ? 0o711 : 0o700);
    if (!(await stat(path)).isDirectory()) throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return await realpath(path);
  } catch (error) {
    if (isDiskFull(error)) throw diskFullProblem(`The data directory ${asked} cannot be made`, error);
    throw new StartupProblem(describeUnusable(asked, codeOf(error)), { cause: error });
  }
}

/**
 * Makes a directory and those above it that are missing, each with exactly this mode, whatever the umask; those that
 * exist are left as they are. (Node's recursive `mkdir` never returns where the system answers ENOENT, as /proc does.)
 */
export async function makeDirectories(path: string, mode: number): Promise<void> {
  if (await stat(path).catch(() => undefined)) return;
  const isMade = await makeOne(path, mode);
  if (isMade) return;
  await makeDirectories(dirname(path), mode);
  if (!(await makeOne(path, mode))) throw Object.assign(new Error(`${path} cannot be made`), { code: 'ENOENT' });
}

/** False when the directory above is missing. */
async function makeOne(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    await chmod(path, mode);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  return true;
}

function describeUnusable(directory: string, code: string | undefined): string {
  const user = userName();
  const advice = 'Set DATA_DIR to another directory.';
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return `The data directory ${directory} cannot be used: it, or a part of its path, is not a directory. ${advice}`;
  }
  if (code === 'EACCES' || code === 'EPERM') {
    const problem = `The user ${user} may not read and write the data directory ${directory}`;
    return `${problem}; give that user access to it, or set DATA_DIR to another directory.`;
  }
  if (code === 'EROFS') return `The data directory ${directory} is on a read-only file system. ${advice}`;
  return `The data directory ${directory} cannot be used (${code ?? 'unknown error'}). ${advice}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}

/**
 * Makes this process the owner of a data directory, until `release` or the process's death, however sudden.
 *
 * The lock is the kernel's lock on a file, taken through SQLite, because Node has no call for one: the kernel grants
 * it to one of two simultaneous starters, drops it when its holder dies, and sees through containers that share a
 * volume but not their process ids. A file with a process id in it does none of the three. The file next to it only
 * tells people who the owner is; nothing is decided by it.
 *
 * Nothing else in this process may open the lock file: POSIX drops a process's locks on a file when the process closes
 * any handle to that file.
 *
 * @param directory an existing directory.
 * @param shownAs how messages name it, as the operator wrote it.
 * @throws StartupProblem when another process, or another part of this one, owns the directory.
 */
export async function lockDataDirectory(directory: string, shownAs: string): Promise<DataDirectoryLock> {
  const path = join(directory, LOCK_FILE);
  const ownerPath = join(directory, OWNER_FILE);
  let handle: DatabaseSync | undefined;
  try {
    createPrivately(path);
    handle = new DatabaseSync(path, { timeout: 0 });
    handle.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    writeOwner(ownerPath);
  } catch (error) {
    if (handle?.isOpen) handle.close();
    throw await describeLockRefusal(error, path, ownerPath, shownAs);
  }
  const held = handle;
  heldLocks.add(held);
  return {
    release() {
      if (!heldLocks.delete(held)) return;
      rmSync(ownerPath, { force: true });
      held.close();
    },
  };
}

/** Without this SQLite would make the file readable by all, and any user could then hold a lock on it. */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

function writeOwner(path: string): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  const owner: Owner = { processId: process.pid, host: hostname() };
  writeFileSync(temporary, `${JSON.stringify(owner)}\n`, { mode: 0o644, flag: 'wx' });
  renameSync(temporary, path);
}

/** What a person is told of a lock that was not to be had; `path` is the file of the lock, `ownerPath` that of its owner. */
export async function describeLockRefusal(
  error: unknown,
  path: string,
  ownerPath: string,
  shownAs: string,
): Promise<Error> {
  const sqliteCode = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  if (sqliteCode === SQLITE_BUSY) {
    const owner = await readOwner(ownerPath);
    const advice = 'Stop it first, or set DATA_DIR to another directory.';
    return new StartupProblem(`The data directory ${shownAs} is in use by ${owner}. ${advice}`, { cause: error });
  }
  if (isDiskFull(error)) return diskFullProblem(`The data directory ${shownAs} cannot be locked`, error);
  const reason = error instanceof Error ? error.message : String(error);
  return new StartupProblem(
    `The data directory ${shownAs} cannot be locked by the user ${userName()} (${reason}${belongsTo(path)}). ` +
      'Start the service as the user who started it there before, or set DATA_DIR to another directory.',
    { cause: error },
  );
}

function belongsTo(path: string): string {
  try {
    return `; ${path} belongs to the user with id ${statSync(path).uid}`;
  } catch {
    return '';
  }
}

/** Names the owner; waits a little for one that has not written its name yet, and does not name a dead one. */
async function readOwner(path: string): Promise<string> {
  const deadline = performance.now() + OWNER_WAIT_MILLISECONDS;
  for (;;) {
    const owner = parseOwner(path);
    const elsewhere = owner !== undefined && owner.host !== hostname();
    if (owner && !elsewhere && processExists(owner.processId)) return `process ${owner.processId}`;
    if (performance.now() > deadline) {
      return owner && elsewhere ? `process ${owner.processId} on ${owner.host}` : 'another process';
    }
    await sleep(20);
  }
}

function parseOwner(path: string): Owner | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof value !== 'object' || value === null || !('processId' in value) || !('host' in value)) return undefined;
    if (typeof value.processId !== 'number' || typeof value.host !== 'string') return undefined;
    return { processId: value.processId, host: value.host };
  } catch {
    return undefined;
  }
}
