import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { parseJson } from '../../domain/parse-json.ts';
import {
  DataDirectoryInUse,
  type DataDirectoryLock,
  findLockOwner,
  lockDataDirectory,
  makeDirectories,
} from '../foundation/data-directory.ts';
import { codeOf } from '../foundation/startup-problem.ts';

/** The information that a running service publishes for commands on its host. */
export type RunningService = {
  readonly processId: number;
  readonly host: string;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly port: number;
  /** The settings as `NAME=value`, without secrets. */
  readonly settings: readonly string[];
};

/**
 * The directory that contains a numbered directory for each process. Each process holds a lock on its directory while
 * it runs. Several processes can share a data directory, because processes with a DATABASE_URL keep only errors there.
 */
const DIRECTORY = 'running';
const FILE = 'settings.json';

/** Publishes that this process is running, with its settings. The returned function removes what was published. */
export async function announceService(
  dataDirectory: string,
  facts: Pick<RunningService, 'port' | 'settings'>,
): Promise<() => Promise<void>> {
  const { directory, lock } = await lockNumber(join(dataDirectory, DIRECTORY));
  const file = join(directory, FILE);
  const service = { processId: process.pid, host: hostname(), startedAt: new Date().toISOString(), ...facts };
  try {
    // Written to a temporary file that is then renamed, so that readers never see a partial file.
    await rm(`${file}.new`, { force: true });
    await writeFile(`${file}.new`, `${JSON.stringify(service, null, 2)}\n`, { flag: 'wx', mode: 0o600 });
    await rename(`${file}.new`, file);
  } catch (error) {
    lock.release();
    throw error;
  }
  return async () => {
    await rm(file, { force: true });
    lock.release();
  };
}

async function lockNumber(parent: string): Promise<{ readonly directory: string; readonly lock: DataDirectoryLock }> {
  // This may create the data directory, which PostgreSQL's user must be able to pass through.
  await makeDirectories(parent, 0o711);
  for (let number = 1; ; number += 1) {
    const directory = join(parent, String(number));
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await chmod(directory, 0o700);
    try {
      return { directory, lock: await lockDataDirectory(directory, directory) };
    } catch (error) {
      if (!(error instanceof DataDirectoryInUse)) throw error;
    }
  }
}

/**
 * Returns the published information about the running services of a data directory. Creates and changes nothing. A
 * process that has announced itself must not call this, because that would release its own lock.
 *
 * @throws the error of the operating system if this user may not read the directory.
 */
export function findRunningServices(dataDirectory: string): readonly RunningService[] {
  const parent = join(dataDirectory, DIRECTORY);
  const services: RunningService[] = [];
  for (const name of namesIn(parent)) {
    const directory = join(parent, name);
    const owner = findLockOwner(directory);
    if (owner === undefined || owner === 'unknown') continue;
    const service = read(join(directory, FILE));
    // The file of a killed process remains until the next process with the same number writes its own file.
    if (service?.processId === owner.processId && service.host === owner.host) services.push(service);
  }
  return services;
}

function namesIn(parent: string): readonly string[] {
  try {
    return readdirSync(parent).filter((name) => /^[0-9]+$/.test(name));
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}

function read(file: string): RunningService | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  // Only this service writes the file, and it never leaves a partial one.
  return parseJson(text) as RunningService;
}
