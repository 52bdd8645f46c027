import { closeSync, constants, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { access, chmod, mkdir, open, realpath, stat } from 'node:fs/promises';
import { hostname, userInfo } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseJson } from '../../domain/parse-json.ts';
import { codeOf, diskFullProblem, isDiskFull, StartupProblem } from './startup-problem.ts';

/** An exclusive lock on a data directory, held until `release` is called or the process ends. */
export type DataDirectoryLock = { release(): void };

/** The process that holds a lock. `task` is the command that it runs, or null for the service. */
export type LockOwner = { readonly processId: number; readonly host: string; readonly task: string | null };

/** Another process has locked the data directory. `owner` is undefined if it is unknown. */
export class DataDirectoryInUse extends StartupProblem {
  readonly owner: LockOwner | undefined;

  constructor(shownAs: string, owner: LockOwner | undefined, cause: unknown) {
    super('data-directory-in-use', describeUse(shownAs, owner), { cause });
    this.owner = owner;
  }
}

const LOCK_FILE = 'lock';
const OWNER_FILE = 'lock-owner.json';
const SQLITE_BUSY = 5;

/**
 * If a lock has no recorded owner, it is tried again for this long before it counts as taken. A new owner records itself only right
 * after it takes the lock, and {@link isLocked} holds the lock briefly without a record.
 */
const OWNER_WAIT_MILLISECONDS = 1_000;
const RETRY_MILLISECONDS = 20;

/** Keeps the handles of held locks reachable. Otherwise garbage collection would close a handle and release its lock. */
const heldLocks = new Set<DatabaseSync>();

/**
 * Creates a data directory if it is missing, and checks that this process can use it.
 *
 * @param openToOthers whether other users may pass through directories that are created here (but never list them), for a server
 * that runs as a different user. Existing directories keep their permissions.
 * @returns the real path, without symbolic links.
 * @throws StartupProblem if it is not a directory, or cannot be created, read or written.
 */
export async function openDataDirectory(asked: string, openToOthers: boolean): Promise<string> {
  const path = resolve(asked);
  try {
    await makeDirectories(path, openToOthers ? 0o711 : 0o700);
    if (!(await stat(path)).isDirectory()) throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' });
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return await realpath(path);
  } catch (error) {
    if (isDiskFull(error)) throw diskFullProblem(`The data directory ${asked} cannot be created`, error);
    throw new StartupProblem('data-directory-unusable', describeUnusable(asked, codeOf(error)), { cause: error });
  }
}

/** Returns the real path that a directory has, or will have when it exists. */
export async function realPathOf(asked: string): Promise<string> {
  const path = resolve(asked);
  try {
    return await realpath(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    return join(await realPathOf(dirname(path)), basename(path));
  }
}

/**
 * Creates a directory and its missing parents, each with exactly this mode, regardless of the umask. Existing directories stay
 * unchanged. (Node's recursive `mkdir` never returns if the system answers ENOENT, as it does for /proc.)
 */
export async function makeDirectories(path: string, mode: number): Promise<void> {
  if (await stat(path).catch(() => undefined)) return;
  const isMade = await makeOne(path, mode);
  if (isMade) return;
  await makeDirectories(dirname(path), mode);
  if (!(await makeOne(path, mode))) throw Object.assign(new Error(`${path} cannot be created`), { code: 'ENOENT' });
}

/** Creates one directory. Returns false if its parent is missing. */
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

export function describeUnusable(directory: string, code: string | undefined): string {
  const user = userName();
  const advice = 'Set DATA_DIR to another directory.';
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return `The data directory ${directory} cannot be used: it, or part of its path, is not a directory. ${advice}`;
  }
  if (code === 'EACCES' || code === 'EPERM') {
    const problem = `The user ${user} cannot read and write the data directory ${directory}`;
    return `${problem}. Give that user access to it, or set DATA_DIR to another directory.`;
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
 * Makes this process the owner of a data directory until `release` is called, or until the process dies for any reason.
 *
 * The lock is a kernel lock on a file. It is taken through SQLite, because Node has no call for one. If two processes start at
 * the same time, the kernel grants it to one of them. It releases the lock when the holder dies. It also works between containers
 * that share a volume but not their process ids. A file that contains a process id cannot do any of that. The file next to the
 * lock only shows people the owner. No code relies on it.
 *
 * No other code in this process may open the lock file, because POSIX releases a process's locks on a file when the process
 * closes any handle to that file.
 *
 * @param directory an existing directory.
 * @param shownAs its name in messages, as the operator wrote it.
 * @param task the command that takes the lock, for the message to the next process. Null for the service.
 * @throws StartupProblem, {@link DataDirectoryInUse} if another process, or another part of this one, owns it.
 */
export async function lockDataDirectory(
  directory: string,
  shownAs: string,
  task: string | null = null,
): Promise<DataDirectoryLock> {
  const path = join(directory, LOCK_FILE);
  const ownerPath = join(directory, OWNER_FILE);
  const deadline = performance.now() + OWNER_WAIT_MILLISECONDS;
  for (;;) {
    try {
      return takeLock(path, ownerPath, task);
    } catch (error) {
      if (!isBusy(error)) throw describeLockRefusal(error, path, shownAs);
      const owner = parseOwner(ownerPath);
      // If the recorded owner is a dead process of this machine, the current holder of the lock has not recorded itself yet, so
      // the lock is tried again.
      const elsewhere = owner !== undefined && owner.host !== hostname();
      const isNamed = owner !== undefined && !elsewhere && processExists(owner.processId);
      const isLate = performance.now() > deadline;
      if (isNamed || isLate) throw new DataDirectoryInUse(shownAs, isNamed || elsewhere ? owner : undefined, error);
    }
    await sleep(RETRY_MILLISECONDS);
  }
}

function takeLock(path: string, ownerPath: string, task: string | null): DataDirectoryLock {
  let handle: DatabaseSync | undefined;
  try {
    createPrivately(path);
    handle = new DatabaseSync(path, { timeout: 0 });
    handle.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    writeOwner(ownerPath, task);
  } catch (error) {
    if (handle?.isOpen) handle.close();
    throw error;
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

/**
 * Returns the process that has locked a directory, or undefined if there is none. Creates and changes nothing. Only for directories
 * that no part of this process has locked: see {@link lockDataDirectory}.
 *
 * @throws the error of the operating system if the owner cannot be determined.
 */
export function findLockOwner(directory: string): LockOwner | 'unknown' | undefined {
  const path = join(directory, LOCK_FILE);
  try {
    // SQLite reports that it cannot open the file, but not why.
    closeSync(openSync(path, 'r'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  if (!isLocked(path)) return undefined;
  return parseOwner(join(directory, OWNER_FILE)) ?? 'unknown';
}

/** Tests a lock by taking a shared lock for a moment. */
function isLocked(path: string): boolean {
  const handle = new DatabaseSync(path, { readOnly: true, timeout: 0 });
  try {
    handle.exec('SELECT count(*) FROM sqlite_schema');
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    handle.close();
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, 'errcode') === SQLITE_BUSY;
}

/**
 * Creates the file before SQLite does, because SQLite would make it readable by all users. Then any user could hold a lock on it.
 */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** Returns whether a process with this id exists, including processes of other users and zombies. */
export function processExists(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

function writeOwner(path: string, task: string | null): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  const owner: LockOwner = { processId: process.pid, host: hostname(), task };
  writeFileSync(temporary, `${JSON.stringify(owner)}\n`, { mode: 0o644, flag: 'wx' });
  renameSync(temporary, path);
}

function describeUse(shownAs: string, owner: LockOwner | undefined): string {
  const where = owner === undefined || owner.host === hostname() ? '' : ` on ${owner.host}`;
  const who = owner === undefined ? 'another process' : `process ${owner.processId}${where}`;
  const task = owner?.task ?? null;
  if (task === null) {
    const advice = 'Stop it first, or set DATA_DIR to another directory.';
    return `The data directory ${shownAs} is in use by ${who}. ${advice}`;
  }
  return `The data directory ${shownAs} is in use by ${who}, which is running the command ${task}. Try again when the command has finished.`;
}

/** Returns the problem if a lock cannot be taken although no process holds it. `path` is the lock file. */
export function describeLockRefusal(error: unknown, path: string, shownAs: string): StartupProblem {
  if (isDiskFull(error)) return diskFullProblem(`The data directory ${shownAs} cannot be locked`, error);
  const reason = error instanceof Error ? error.message : String(error);
  return new StartupProblem(
    'data-directory-unusable',
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

function parseOwner(path: string): LockOwner | undefined {
  try {
    const value: unknown = parseJson(readFileSync(path, 'utf8'));
    if (typeof value !== 'object' || value === null || !('processId' in value) || !('host' in value)) return undefined;
    if (typeof value.processId !== 'number' || typeof value.host !== 'string') return undefined;
    const task = 'task' in value && typeof value.task === 'string' ? value.task : null;
    return { processId: value.processId, host: value.host, task };
  } catch {
    return undefined;
  }
}

/** Flushes a directory. A rename is durable only after its directory was flushed. */
export async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
