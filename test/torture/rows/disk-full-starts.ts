import { execFile } from 'node:child_process';
import { chmod, mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startInVain, startService } from '../../harness/process.ts';
import type { Tally } from '../row.ts';

const execute = promisify(execFile);

/**
 * Free space on the disk, in KB: too little for the lock, for its owner's name, for `initdb` to start, for its log, for
 * the first database, for ours.
 */
const LEFT_FOR_NEW = [0, 4, 8, 100, 10_000, 40_000];
/** The same for an existing ledger: the lock, the owner's name, the access rules, the next file of the log. */
const LEFT_FOR_EXISTING = [0, 4, 8, 100];

const SENTENCE =
  /^\nThe service cannot start: [^\n]*: the disk is full\. Free up space [^\n]*\nRunbook: docs\/runbook\/disk-full\.md\n$/;

/**
 * Starts the service on a full disk: it must report that in one sentence, and start once there is room. `disk` is a small
 * file system that nothing else uses; `sizeMb` is its final size.
 */
export async function startOnFullDisk(disk: string, sizeMb: number, tally: Tally, inHaste: boolean): Promise<void> {
  const expectRefusal = async (directory: string, left: number): Promise<void> => {
    await leave(disk, left);
    const { exitCode, errors } = await startInVain({ DATA_DIR: directory, LOG_LEVEL: 'silent' });
    tally.add('starts_on_full_disk');
    if (exitCode === 1 && SENTENCE.test(errors)) return;
    tally.violate(`start with ${left} KB left`, [`exit code ${exitCode}, ${JSON.stringify(errors)}`]);
  };
  const anyOf = (sizes: readonly number[]) => (inHaste ? sizes.filter((_, index) => index % 3 === 0) : sizes);
  // For mount(8) a size of 0 means no limit.
  const ballast = join(disk, 'ballast');
  await writeFile(ballast, 'x');
  for (const left of anyOf(LEFT_FOR_NEW)) {
    const directory = join(disk, 'new');
    await mkdir(directory);
    await chmod(directory, 0o711);
    await expectRefusal(directory, left);
    await rm(directory, { recursive: true });
    await resize(disk, sizeMb * 1024);
  }
  const directory = join(disk, 'existing');
  await (await startService({ DATA_DIR: directory, LOG_LEVEL: 'silent' })).stop();
  for (const left of anyOf(LEFT_FOR_EXISTING)) await expectRefusal(directory, left);
  await resize(disk, sizeMb * 1024);
  const service = await startService({ DATA_DIR: directory, LOG_LEVEL: 'silent' });
  if ((await service.stop()) !== 0) tally.violate('start with room again', ['the service did not stop as it should']);
  await rm(directory, { recursive: true });
  await rm(ballast);
}

/** Leaves some KB free on a small file system. */
async function leave(disk: string, kilobytes: number): Promise<void> {
  const { blocks, bfree, bsize } = await statfs(disk);
  await resize(disk, ((blocks - bfree) * bsize) / 1024 + kilobytes);
}

async function resize(disk: string, kilobytes: number): Promise<void> {
  await execute('mount', ['-o', `remount,size=${kilobytes}k`, disk]);
}
