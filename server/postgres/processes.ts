import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir, readFile, readlink, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { processExists } from '../foundation/data-directory.ts';
import { codeOf } from '../foundation/startup-problem.ts';

export type EndingStep = { signal: NodeJS.Signals; waitMilliseconds: number };

/**
 * PostgreSQL's three ways to stop: fast (disconnects clients, writes a checkpoint), immediate (needs a recovery later), and a kill.
 */
const END_ORPHAN: readonly EndingStep[] = [
  { signal: 'SIGINT', waitMilliseconds: 3_000 },
  { signal: 'SIGQUIT', waitMilliseconds: 2_000 },
  { signal: 'SIGKILL', waitMilliseconds: 2_000 },
];

/** For backends without a parent. They have nothing to save, and SIGINT would only cancel their statement. */
const END_LEFTOVERS: readonly EndingStep[] = [
  { signal: 'SIGQUIT', waitMilliseconds: 1_000 },
  { signal: 'SIGKILL', waitMilliseconds: 2_000 },
];

/**
 * Returns whether a process is still running. A zombie is not. In many containers, process 1 does not reap its children. There, a
 * process without a parent stays a zombie forever after it has ended.
 */
export function isAlive(processId: number): boolean {
  if (!processExists(processId)) return false;
  if (process.platform !== 'linux') return true;
  try {
    const status = readFileSync(`/proc/${processId}/stat`, 'utf8');
    return !/^[ZX]/.test(status.slice(status.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

/**
 * Stops every PostgreSQL process that is still working on a data directory, and removes files that would wrongly prevent a new
 * server from starting. The caller holds the lock of the data directory, so the service that started any server there has ended.
 * The server must end before a new one starts. Otherwise a transaction of the dead service could still commit after its outcome
 * was resolved.
 *
 * @param dataDirectory the real path of PostgreSQL's files.
 * @param socketDirectory the private directory of the socket. It is emptied.
 */
export async function clearLeftovers(
  dataDirectory: string,
  socketDirectory: string,
  onProgress: (line: string) => void,
): Promise<void> {
  await endServerOf(dataDirectory, onProgress);
  const pidFile = join(dataDirectory, 'postmaster.pid');
  const remaining = await readProcessId(pidFile);
  // PostgreSQL assumes that any process with the recorded id is a server, and refuses to start, although a different process may
  // have that id by now. If no process has the id, the file stays: PostgreSQL then checks the shared memory that the file names.
  if (remaining !== undefined && processExists(remaining) && !(await isPostgresOf(remaining, dataDirectory))) {
    await rm(pidFile, { force: true });
  }
  for (const entry of await readdir(socketDirectory)) await rm(join(socketDirectory, entry), { force: true });
}

/** Stops every PostgreSQL process that works on a data directory. The caller must hold the lock that its service had. */
export async function endServerOf(dataDirectory: string, onProgress: (line: string) => void): Promise<void> {
  const recorded = await readProcessId(join(dataDirectory, 'postmaster.pid'));
  if (recorded !== undefined && (await isPostgresOf(recorded, dataDirectory))) {
    onProgress(`Stopping the PostgreSQL that a previous service left running (process ${recorded}).`);
    await endProcesses([recorded], END_ORPHAN);
  }
  const leftovers = await postgresProcessesOf(dataDirectory);
  if (leftovers.length > 0) await endProcesses(leftovers, END_LEFTOVERS);
}

/** The record that a running PostgreSQL keeps in its data directory. */
export type RunningPostgres = { readonly processId: number; readonly socketDirectory: string };

/** Returns the PostgreSQL that works on a data directory. Undefined if there is none. Rejects if the files cannot be read. */
export async function findRunningPostgres(dataDirectory: string): Promise<RunningPostgres | undefined> {
  let text: string;
  try {
    text = await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  // There is one value per line: process, data directory, start, port, socket directory. PostgreSQL writes the file line by line.
  const [processId = '', , , , socketDirectory = ''] = text.split('\n');
  const running = { processId: Number.parseInt(processId, 10), socketDirectory };
  if (!(running.processId > 0) || socketDirectory === '') return undefined;
  return (await isPostgresOf(running.processId, dataDirectory)) ? running : undefined;
}

async function readProcessId(pidFile: string): Promise<number | undefined> {
  try {
    const processId = Number.parseInt(await readFile(pidFile, 'utf8'), 10);
    return processId > 0 ? processId : undefined;
  } catch {
    return undefined;
  }
}

/** Sends the signal of each step to the processes that are still running. Ends when no process is left. */
async function endProcesses(processIds: readonly number[], steps: readonly EndingStep[]): Promise<void> {
  for (const { signal, waitMilliseconds } of steps) {
    for (const processId of processIds.filter(isAlive)) {
      try {
        process.kill(processId, signal);
      } catch {
        // The process has ended in the meantime, or this user may not end it. The wait below shows which is the case.
      }
    }
    const deadline = performance.now() + waitMilliseconds;
    while (processIds.some(isAlive) && performance.now() < deadline) await sleep(15);
    if (!processIds.some(isAlive)) return;
  }
}

async function isPostgresOf(processId: number, dataDirectory: string): Promise<boolean> {
  if (!isAlive(processId)) return false;
  if (process.platform === 'linux') return await worksIn(processId, dataDirectory);
  try {
    const { stdout } = await promisify(execFile)('/bin/ps', ['-ww', '-o', 'command=', '-p', String(processId)]);
    const program = stdout.split(' -D ')[0] ?? '';
    return basename(program.trim()) === 'postgres' && stdout.includes(` -D ${dataDirectory} `);
  } catch {
    return false;
  }
}

/**
 * Returns whether a process is a postgres whose working directory is the data directory, as for every process of a
 * server.
 */
async function worksIn(processId: number, dataDirectory: string): Promise<boolean> {
  try {
    const name = (await readFile(`/proc/${processId}/comm`, 'utf8')).trim();
    return name === 'postgres' && (await readlink(`/proc/${processId}/cwd`)) === dataDirectory;
  } catch {
    return false;
  }
}

/**
 * Returns the PostgreSQL processes of a data directory. Empty on systems without /proc. There, PostgreSQL's own check of its shared
 * memory makes the new server wait.
 */
async function postgresProcessesOf(dataDirectory: string): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  const found: number[] = [];
  for (const entry of await readdir('/proc')) {
    if (/^\d+$/.test(entry) && (await worksIn(Number.parseInt(entry, 10), dataDirectory))) {
      found.push(Number.parseInt(entry, 10));
    }
  }
  return found;
}

const TEMPORARY = /^postgresql\.restore-[0-9a-f]{12}$/;

/** Removes unfinished restores that were killed, and stops their servers. The caller must hold the lock of `home`. */
export async function removeUnfinishedRestores(home: string, onProgress: (line: string) => void): Promise<void> {
  for (const name of await readdir(home)) {
    if (!TEMPORARY.test(name)) continue;
    const path = join(home, name);
    await endServerOf(path, onProgress);
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  }
}
