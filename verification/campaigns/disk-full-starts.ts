import { execFile } from 'node:child_process';
import { chmod, mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startInVain, startService } from '../../test/harness/process.ts';
import type { Tally } from '../campaign.ts';

const execute = promisify(execFile);

/**
 * Free space on the disk, in KB. Each amount is too small for the next step: the lock, its owner's name, the start of
 * `initdb`, its log, the first database, the service's database.
 */
const LEFT_FOR_NEW = [0, 4, 8, 100, 10_000, 40_000];

/** The same for an existing ledger: the lock, its owner's name, the access rules, the next WAL segment. */
const LEFT_FOR_EXISTING = [0, 4, 8, 100];

const SENTENCE =
  /^\nThe service cannot start: [^\n]*: the disk is full\. Free up space [^\n]*\nRunbook: docs\/runbook\/disk-full\.md\n$/;

/**
 * Starts the service on a full disk. It must report the full disk in one sentence, and start once there is space. `disk` is a
 * small file system that nothing else uses, and `sizeMb` is its final size.
 */
export async function startOnFullDisk(disk: string, sizeMb: number, tally: Tally, isQuick: boolean): Promise<void> {
  const expectRefusal = async (directory: string, left: number): Promise<void> => {
    await leave(disk, left);
    const { exitCode, errors } = await startInVain({ DATA_DIR: directory, LOG_LEVEL: 'silent' });
    tally.add('starts_on_full_disk');
    if (exitCode === 1 && SENTENCE.test(errors)) return;
    tally.violate(`start with ${left} KB left`, [`exit code ${exitCode}, ${JSON.stringify(errors)}`]);
  };
  const anyOf = (sizes: readonly number[]) => (isQuick ? sizes.filter((_, index) => index % 3 === 0) : sizes);
  // The file keeps the size above 0, which mount(8) takes as no limit.
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
  if ((await service.stop()) !== 0)
    tally.violate('start with space again', ['the service did not stop with exit code 0']);
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
