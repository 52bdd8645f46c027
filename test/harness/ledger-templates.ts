import { appendFileSync, chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { endLeftovers } from './run/leftovers.ts';

/** The environment variable with the templates' directory, for the processes of a run. */
export const TEMPLATES = 'TEST_LEDGER_TEMPLATES';

/** Returns this test run's directory with the templates that `ledgerDirectory` copies, or undefined outside a run. */
export function templatesOfThisRun(): string | undefined {
  return process.env[TEMPLATES];
}

/**
 * Returns the parent of the tests' directories. `npm test` keeps them in memory if there is room, because a ledger has
 * more than a thousand files, and many disks need a second for them. Files in memory survive the SIGKILL of a process.
 * Outside such a run, and in campaigns, the directories are on disk.
 */
export function placeOfDirectories(): string {
  const templates = templatesOfThisRun();
  return templates === undefined ? '/tmp' : dirname(templates);
}

/** The kinds of starts that a run counts, because starts take most of its time. */
type Start = 'service' | 'PostgreSQL';

/** Counts a start. The run prints the total when it ends. Does nothing outside a run. */
export function countStart(start: Start): void {
  const templates = templatesOfThisRun();
  if (templates !== undefined) appendFileSync(join(templates, STARTS), `${start}\n`);
}

const STARTS = 'starts';

function describeStarts(templates: string): string {
  const starts = readFileSync(join(templates, STARTS), { encoding: 'utf8', flag: 'a+' }).split('\n');
  const numberOf = (start: Start): number => starts.filter((line) => line === start).length;
  return `Started ${numberOf('service')} services, and ${numberOf('PostgreSQL')} PostgreSQL servers without a service.`;
}

/**
 * Creates a directory under `place` once, with a data directory `postgresql` in it, and returns the data directory's
 * path. If two processes do so at once, the first to finish renames its copy, and the other removes its own.
 */
export async function makeTemplate(
  place: string,
  name: string,
  make: (directory: string) => Promise<void>,
): Promise<string> {
  const ready = join(place, name);
  const files = join(ready, 'postgresql');
  if (existsSync(files)) return files;
  const making = await mkdtemp(join(place, 'making-'));
  await make(making);
  try {
    await rename(making, ready);
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    if (!existsSync(files)) throw error;
  }
  return files;
}

/** The bytes that must be free in memory: enough for thirty simultaneous ledgers and their writes. */
const ROOM = 8 * 2 ** 30;

function hasRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= ROOM;
  } catch {
    return false;
  }
}

/**
 * Creates the templates' directory for this process and its children, and returns a function that removes it. Does
 * nothing if the run already has one. vitest calls it before the first file.
 */
export default function makeTemplates(): (() => Promise<void>) | undefined {
  if (templatesOfThisRun() !== undefined) return undefined;
  const place = hasRoom('/dev/shm') ? '/dev/shm' : '/tmp';
  const path = mkdtempSync(join(place, 'transfer-service-templates-'));
  // If root runs the tests, PostgreSQL's user must be able to enter the directory.
  chmodSync(path, 0o711);
  process.env[TEMPLATES] = path;
  return async () => {
    delete process.env[TEMPLATES];
    console.log(describeStarts(path));
    await endLeftovers(path);
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  };
}
