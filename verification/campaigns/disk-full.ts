import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, open, rm, statfs, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { onConnection } from '../../test/harness/ledger.ts';
import {
  embeddedServerOf,
  type ServiceProcess,
  startInVain,
  startService,
  temporaryDirectory,
} from '../../test/harness/process.ts';
import { boundOf, type Findings, pause, type Setting, streamOf, Tally } from '../campaign.ts';
import { readBooks } from '../checkers/books.ts';
import { Load, untilServing } from '../generators/load.ts';

const execute = promisify(execFile);

const CLIENTS = 24;

/** Sizes in MB: enough for a new ledger and some minutes of load, and small enough to fill quickly. */
const ROOM = { data: 256, log: 160, more: 128 } as const;
type Disk = 'data' | 'log';

/** The longest recovery once there is space again, in milliseconds. */
const MAX_RECOVERY = 10_000;

/** The longest time until the service reports that it is not ready, once the data disk is full, in milliseconds. */
const NOT_READY = 2_000;

/** The id of the user that PostgreSQL runs as if the test runs as root. */
const NOBODY = 65534;

const SENT_AGAIN = 200;

/** Two small file systems, for the ledger and for PostgreSQL's WAL. */
type Disks = { readonly path: Readonly<Record<Disk, string>>; readonly end: () => Promise<void> };

async function mountDisks(): Promise<Disks> {
  const directory = await temporaryDirectory();
  const path = { data: join(directory.path, 'data'), log: join(directory.path, 'log') };
  const end = async (): Promise<void> => {
    for (const mounted of Object.values(path)) await execute('umount', ['--lazy', mounted]).catch(() => undefined);
    await directory.remove();
  };
  try {
    for (const disk of ['data', 'log'] as const) {
      await mkdir(path[disk]);
      await execute('mount', ['-t', 'tmpfs', '-o', `size=${ROOM[disk]}m`, 'campaign', path[disk]]);
      await chmod(path[disk], 0o711);
    }
    return { path, end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Starts a service whose ledger has its WAL on a separate disk. */
async function openLedger({ path }: Disks): Promise<ServiceProcess> {
  const environment = { DATA_DIR: path.data, LOG_LEVEL: 'silent' };
  await (await startService(environment)).stop();
  const inside = join(path.data, 'postgresql', 'pg_wal');
  const outside = join(path.log, 'pg_wal');
  await execute('cp', ['-a', inside, outside]);
  await rm(inside, { recursive: true });
  await symlink(outside, inside);
  await chown(outside, NOBODY, NOBODY);
  return startService(environment);
}

/** Fills a disk to the last byte. Returns a function that removes the ballast. */
async function fill(path: string): Promise<() => Promise<void>> {
  const ballast = join(path, 'ballast');
  const file = await open(ballast, 'w');
  try {
    for (let size = 1024 * 1024; size >= 512; size /= 2) {
      while (
        await file.write(Buffer.alloc(size)).then(
          ({ bytesWritten }) => bytesWritten === size,
          () => false,
        )
      );
    }
  } finally {
    await file.close().catch(() => undefined);
  }
  return () => rm(ballast, { force: true });
}

/**
 * Enlarges a disk. PostgreSQL keeps more WAL than the small disk can hold, so removing the ballast would not be enough.
 */
async function giveRoom(path: string): Promise<void> {
  const { blocks, bfree, bsize } = await statfs(path);
  const used = Math.ceil(((blocks - bfree) * bsize) / 1024 / 1024);
  await execute('mount', ['-o', `remount,size=${used + ROOM.more}m`, path]);
}

/** Makes PostgreSQL use up its WAL segments until it cannot create the next one. */
async function useUpLog(databaseUrl: string, until: () => boolean): Promise<void> {
  const superuser = { connectionString: databaseUrl.replace('transfer_service@', 'postgres@') };
  const use = async (client: pg.Client): Promise<void> => {
    while (!until()) {
      await client.query('select pg_switch_wal()');
      await pause(20);
    }
  };
  // The server stops, as intended.
  await onConnection(superuser, use).catch(() => undefined);
}

async function fillUp(setting: Setting, tally: Tally, disks: Disks, service: ServiceProcess): Promise<void> {
  const load = new Load(CLIENTS, 'disk', streamOf(setting.seed, 2));
  const random = streamOf(setting.seed, 1);
  const { url } = service;
  const patience = setting.isQuick === true ? 0.25 : 1;
  await load.makeCards(service);
  for (let round = 1; round <= setting.count && !tally.isFull; round += 1) {
    const disk: Disk = round % 2 === 1 ? 'log' : 'data';
    load.start(url);
    await pause((300 + random() * 700) * patience);
    const failures = () => load.responses.filter(({ status }) => status >= 500).length;
    const before = failures();
    // Reads the address before the disk is full, because a stopped server has none.
    const { databaseUrl } = await embeddedServerOf(disks.path.data);
    const empty = await fill(disks.path[disk]);
    const startedAt = performance.now();
    // The full WAL disk has no effect until the existing WAL segments are used up.
    if (disk === 'data') await findNotReady(setting, tally, url, `round ${round}`);
    const isHit = () => failures() > before || performance.now() - startedAt > boundOf(setting, 60_000);
    if (disk === 'log') await useUpLog(databaseUrl, isHit);
    while (!isHit()) await pause(20);
    if (failures() === before) tally.violate(`round ${round}`, [`no request failed on the full ${disk} disk`]);
    await pause((500 + random() * 2_500) * patience);
    tally.add(`full_${disk}`);
    tally.add('failures_meanwhile', failures() - before);
    await empty();
    await giveRoom(disks.path[disk]);
    const back = await untilServing(url);
    tally.time('back', back);
    const most = boundOf(setting, MAX_RECOVERY);
    if (back > most) tally.violate(`round ${round}`, [`it recovered after ${back} ms, the maximum is ${most} ms`]);
    await load.pause();
    await check(disks, load, tally, `round ${round}, ${disk}`);
    setting.progress(round, `${tally.count('violations')} violations`);
  }
  await load.settle(url, SENT_AGAIN);
  load.count(tally, await check(disks, load, tally, 'everything sent again'));
}

/** Waits until the service is not ready. Load balancers must notice the full disk even before a request fails. */
async function findNotReady(setting: Setting, tally: Tally, url: string, round: string): Promise<void> {
  const startedAt = performance.now();
  const isReady = async (): Promise<boolean> => (await fetch(`${url}/health/ready`)).status === 200;
  const most = boundOf(setting, NOT_READY);
  while (await isReady()) {
    if (performance.now() - startedAt > most) {
      tally.violate(round, [`still ready ${most} ms after the data disk was full`]);
      return;
    }
    await pause(20);
  }
  tally.time('not_ready', performance.now() - startedAt);
}

/**
 * Free space on the disk, in KB. Each amount is too small for the next step: the lock, its owner's name, the start of
 * `initdb`, its log, the first database, the service's database.
 */
const LEFT_FOR_NEW = [0, 4, 8, 100, 10_000, 40_000];

/**
 * Free space for an existing ledger, in KB. Each amount is too small for the next step: the lock, its owner's name, the access
 * rules, the next WAL segment.
 */
const LEFT_FOR_EXISTING = [0, 4, 8, 100];

const SENTENCE =
  /^\nThe service cannot start: [^\n]*: the disk is full\. Free up space [^\n]*\nRunbook: docs\/runbook\/disk-full\.md\n$/;

/**
 * Starts the service on a full disk. It must report the full disk in one sentence, and start once there is space. `disk` is a
 * small file system that nothing else uses, and `sizeMb` is its final size.
 */
async function startOnFullDisk(disk: string, sizeMb: number, tally: Tally, isQuick: boolean): Promise<void> {
  const expectRefusal = async (directory: string, left: number): Promise<void> => {
    await leave(disk, left);
    const { exitCode, errors } = await startInVain({ DATA_DIR: directory, LOG_LEVEL: 'silent' });
    tally.add('starts_on_full_disk');
    if (exitCode === 1 && SENTENCE.test(errors)) return;
    tally.violate(`start with ${left} KB left`, [`exit code ${exitCode}, ${JSON.stringify(errors)}`]);
  };
  const anyOf = (sizes: readonly number[]) => (isQuick ? sizes.filter((_, index) => index % 3 === 0) : sizes);
  // This file keeps the size above 0. To mount(8), a size of 0 means no limit.
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

async function check({ path }: Disks, load: Load, tally: Tally, where: string) {
  const books = await readBooks(path.data, load.cards);
  load.judge(tally, where, books);
  return books;
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  let disks: Disks;
  try {
    disks = await mountDisks();
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim() : String(error);
    return {
      figures: {},
      violations: [],
      notRun: `a small file system cannot be mounted here (run as root): ${reason}`,
    };
  }
  const end = setting.resources.add('the small disks', disks.end);
  try {
    await startOnFullDisk(disks.path.data, ROOM.data, tally, setting.isQuick === true);
    const service = await openLedger(disks);
    const stop = setting.resources.add('the service', async () => void (await service.stop()));
    try {
      await fillUp(setting, tally, disks, service);
    } finally {
      await stop();
    }
  } finally {
    await end();
  }
  return tally.findings({ clients: CLIENTS });
}
