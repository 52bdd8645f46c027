import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';

const VARIABLE = 'TEST_LEDGER_TEMPLATES';

/** Directory, of one run of tests, for what `ledgerDirectory` copies; undefined outside such a run. */
export function templatesOfThisRun(): string | undefined {
  return process.env[VARIABLE];
}

/**
 * Where the directories of tests are made: in memory for a run of `npm test` that has the room, since a ledger has more
 * than a thousand files and many a disk takes a second to make them. SIGKILL, which is what the tests of a run do to
 * processes, loses nothing there that a disk would keep. Elsewhere, and in the torture, on the disk.
 */
export function placeOfDirectories(): string {
  const templates = templatesOfThisRun();
  return templates === undefined ? '/tmp' : dirname(templates);
}

/** Bytes that must be free in memory: some thirty ledgers at a time, with what they write. */
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
 * Makes that directory, empty, for this process and those that it starts; gives what removes it. Inside a run that has
 * one already it does nothing. vitest calls it before the first file of each project.
 */
export default function makeTemplates(): (() => void) | undefined {
  if (templatesOfThisRun() !== undefined) return undefined;
  const place = hasRoom('/dev/shm') ? '/dev/shm' : '/tmp';
  const path = mkdtempSync(join(place, 'transfer-service-templates-'));
  // The user that PostgreSQL runs as, when the tests run as root, must get through.
  chmodSync(path, 0o711);
  process.env[VARIABLE] = path;
  return () => {
    delete process.env[VARIABLE];
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  };
}
