import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

// Cleans up directories and processes that a crashed worker process of the test run has left behind.

const placeOf = (templates: string): string => join(templates, 'directories');

/** A directory that a process has created and not yet removed. */
type Note = { readonly path: string; readonly owner: number };

export function noteDirectory(templates: string, path: string): void {
  mkdirSync(placeOf(templates), { recursive: true });
  writeFileSync(join(placeOf(templates), basename(path)), `${process.pid} ${path}`);
}

export function forgetDirectory(templates: string, path: string): void {
  rmSync(join(placeOf(templates), basename(path)), { force: true });
}

/** The time limit for a process to end, in milliseconds. */
const END_TIME = 10_000;

/** Ends the processes that still use directories of the run, and removes the directories. */
export async function endLeftovers(templates: string): Promise<void> {
  // A worker that is still running removes its own directories.
  await until(() => notesIn(templates).every(({ owner }) => !runs(owner)));
  for (const { path } of notesIn(templates)) {
    await until(() => {
      const left = usersOf(path);
      for (const processId of left) end(processId);
      return left.length === 0;
    });
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function until(isDone: () => boolean): Promise<void> {
  const deadline = performance.now() + END_TIME;
  while (!isDone() && performance.now() < deadline) await new Promise((wake) => setTimeout(wake, 50));
}

/** Reads the records. The processes may remove some of them in the meantime. */
function notesIn(templates: string): readonly Note[] {
  const place = placeOf(templates);
  if (!existsSync(place)) return [];
  return readdirSync(place).flatMap((name) => {
    const [, owner = '', path = ''] = /^(\d+) (.+)$/.exec(readIfThere(join(place, name))) ?? [];
    return path === '' ? [] : [{ path, owner: Number(owner) }];
  });
}

function runs(processId: number): boolean {
  if (processId === process.pid) return false;
  try {
    process.kill(processId, 0);
    return true;
  } catch {
    return false;
  }
}

/** Finds the processes that have the directory in their command line or environment, on Linux. */
function usersOf(path: string): readonly number[] {
  const names = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && name !== String(process.pid));
  return names
    .map(Number)
    .filter((id) => [`/proc/${id}/cmdline`, `/proc/${id}/environ`].some((file) => readIfThere(file).includes(path)));
}

/** Returns the content of a file, or an empty string if it is missing or not readable. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

/**
 * Ends a process. A service gets SIGKILL, so that it cannot restart PostgreSQL. PostgreSQL shuts down immediately and
 * frees its shared memory.
 */
function end(processId: number): void {
  try {
    const isPostgres = readFileSync(`/proc/${processId}/comm`, 'utf8').startsWith('postgres');
    process.kill(processId, isPostgres ? 'SIGQUIT' : 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}
