import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmod, mkdir, open, readdir, readFile, rename, rm, statfs, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lockCopies, takeCopy } from '../../server/postgres/backup/base-copy.ts';
import { startEmbeddedPostgres } from '../../server/postgres/embedded-postgres.ts';
import { connect } from '../harness/ledger.ts';
import {
  embeddedServerOf,
  isRunning,
  runCommand,
  type ServiceProcess,
  startInVain,
  startService,
  temporaryDirectory,
  waitFor,
} from '../harness/process.ts';
import { copyBackup, isRoot, untilCopyEnds } from './directories.ts';

// Tests real failures of backups. Each message must tell the operator what to do.

const ADMINISTRATION = new URL('../../server/host/administration.ts', import.meta.url).pathname;
const execute = promisify(execFile);

let place: Awaited<ReturnType<typeof temporaryDirectory>>;
let DATA_DIR = '';
let BACKUP_DIR = '';
let service: ServiceProcess;

const inside = (name: string): string => join(place.path, name);
const settings = (more: Readonly<Record<string, string>> = {}) => ({
  DATA_DIR,
  BACKUP_DIR,
  LOG_LEVEL: 'silent',
  ...more,
});
const namesIn = async (directory: string): Promise<readonly string[]> =>
  (await readdir(directory).catch(() => [])).sort();
const copies = async (backup = BACKUP_DIR) =>
  (await namesIn(join(backup, 'base'))).filter((name) => !name.startsWith('.'));
const unfinished = async () =>
  (await namesIn(join(BACKUP_DIR, 'base'))).filter((name) => name.startsWith('.unfinished'));

/** Waits until the service has taken its first copy and another process can take one. */
async function firstCopy(environment: { readonly DATA_DIR: string; readonly BACKUP_DIR: string }): Promise<void> {
  await waitFor('the first copy', async () => (await copies(environment.BACKUP_DIR)).length > 0);
  await untilCopyEnds(environment.DATA_DIR);
}

async function transfer(): Promise<string> {
  return (await service.client.transfers.create({ amount: 1, card_id: 'card_active' })).transfer_id;
}

/** Ends the current WAL file, waits until it is archived and returns its name. */
async function archive(): Promise<string> {
  const { databaseUrl } = await embeddedServerOf(DATA_DIR);
  const client = await connect({ connectionString: databaseUrl.replace('transfer_service@', 'postgres@') });
  try {
    const { rows } = await client.query<{ file: string }>('select pg_walfile_name(pg_switch_wal() - 1) as file');
    const file = rows[0]?.file ?? '';
    await waitFor(file, async () => (await namesIn(join(BACKUP_DIR, 'wal'))).includes(file));
    return file;
  } finally {
    await client.end();
  }
}

/** Starts a command that a test kills or stops with a signal. */
function startCommand(words: readonly string[], environment: Readonly<Record<string, string>>): ChildProcess {
  const { PATH = '' } = process.env;
  return spawn(process.execPath, [ADMINISTRATION, ...words], {
    env: { PATH, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await ended;
}

/**
 * Stops a command with a signal at a certain moment. On a busy machine, the command may already be past that moment. In
 * that case, `undo` prepares another try.
 */
async function freezeIn(
  begin: () => ChildProcess,
  isMoment: () => Promise<boolean>,
  undo: () => Promise<void>,
): Promise<ChildProcess> {
  for (;;) {
    const child = begin();
    const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
    await waitFor('the moment', async () => isOver() || (await isMoment()));
    // A stopped process cannot finish, even on a fast machine.
    child.kill('SIGSTOP');
    if (!isOver() && (await isMoment())) return child;
    child.kill('SIGCONT');
    await new Promise<void>((resolve) => (isOver() ? resolve() : child.once('exit', () => resolve())));
    expect(child.exitCode).toBe(0);
    await undo();
  }
}

/** Copies the backup, so that a test can damage the copy. */
async function copyOfBackup(name: string): Promise<string> {
  const copy = inside(name);
  await copyBackup(BACKUP_DIR, copy);
  return copy;
}

/** Changes bytes in the middle of a file, as a bad disk does. */
async function corrupt(path: string, position: number): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(Buffer.alloc(64, 0xa5), 0, 64, position);
  await file.close();
}

const restore = (backup: string, target: string, to = 'latest') =>
  runCommand(['restore', '--to', to, '--from', backup], { DATA_DIR: inside(target) });

beforeAll(async () => {
  place = await temporaryDirectory();
  DATA_DIR = inside('data');
  BACKUP_DIR = inside('backup');
  await mkdir(BACKUP_DIR);
  service = await startService(settings());
  await firstCopy({ DATA_DIR, BACKUP_DIR });
});
afterAll(async () => {
  if (service?.child.exitCode === null && service.child.signalCode === null) await service.stop();
  await place?.remove();
});

describe('a start refuses a backup directory, and gives the reason, if', () => {
  const refused = async (directory: string, words: string | RegExp): Promise<void> => {
    const { exitCode, errors } = await startInVain({ DATA_DIR: inside('other'), BACKUP_DIR: directory });
    expect(exitCode).toBe(1);
    expect(errors).toMatch(words);
    expect(errors).toMatch(/\nRunbook: docs\/runbook\/backup-directory-unusable\.md\n$/);
    expect(await namesIn(inside('other'))).not.toContain('postgresql');
  };

  test('it does not exist', () => refused(inside('missing'), 'it does not exist. Mount its disk, or create it'));
  test('it is a file', async () => {
    await writeFile(inside('file'), '');
    await refused(inside('file'), 'it is not a directory');
    await refused(join(inside('file'), 'below'), 'is not a directory');
  });
  test('it is inside the data directory, even behind a link, or contains it', async () => {
    await mkdir(join(inside('other'), 'backup'), { recursive: true });
    await refused(join(inside('other'), 'backup'), /it is inside .*\/other, the directory of the ledger/);
    await symlink(join(inside('other'), 'backup'), inside('link'));
    await refused(inside('link'), /it is inside .*\/other, the directory of the ledger/);
    await refused(place.path, /it contains .*\/other, the directory of the ledger/);
  });
  test('it cannot be written', async () => {
    const directory = inside('closed');
    await mkdir(directory);
    // Root can write everywhere, but then PostgreSQL runs as another user.
    await chmod(directory, isRoot ? 0o700 : 0o500);
    await refused(
      directory,
      isRoot ? `Run 'chmod o+x ${directory}'` : 'the user of the service cannot read and write it',
    );
    await chmod(directory, 0o711);
  });
  test('it is on a file system where no file can be created', () =>
    refused('/proc', /\(BACKUP_DIR\) cannot be used: /));
});

test("the backup command fails without BACKUP_DIR, or with a directory other than the service's", async () => {
  const without = await runCommand(['backup'], { DATA_DIR });
  expect(without.errors).toMatch(/^BACKUP_DIR is not set\. .*\nRunbook: .*backup-directory-unusable\.md\n$/);
  const other = inside('other-backup');
  await mkdir(join(other, 'wal'), { recursive: true });
  await mkdir(join(other, 'base'));
  const { exitCode, errors } = await runCommand(['backup'], settings({ BACKUP_DIR: other }));
  expect([exitCode, errors]).toEqual([
    1,
    expect.stringContaining(`archives into ${BACKUP_DIR}/wal, but BACKUP_DIR needs ${other}/wal`),
  ]);
});

test('the unfinished copy of a killed command is ignored, and the next copy removes it', async () => {
  let before = await copies();
  const child = await freezeIn(
    () => startCommand(['backup'], settings()),
    async () => (await unfinished()).length > 0,
    async () => {
      before = await copies();
    },
  );
  await kill(child);
  expect(await unfinished()).toHaveLength(1);
  expect(await copies()).toEqual(before);
  expect((await runCommand(['backup', 'list'], settings())).exitCode).toBe(0);
  await transfer();
  expect(await runCommand(['backup'], settings())).toMatchObject({
    exitCode: 0,
    output: expect.stringContaining('is complete'),
  });
  expect(await unfinished()).toEqual([]);
  expect(await copies()).toHaveLength(before.length + 1);
});

test('a copy in progress is listed, and no second copy begins', async () => {
  const lock = await lockCopies(DATA_DIR);
  try {
    const files = join(BACKUP_DIR, 'base', '.unfinished-20300131T120000Z', 'files');
    await mkdir(files, { recursive: true });
    await writeFile(join(files, 'one'), Buffer.alloc(2_500_000));
    const { output } = await runCommand(['backup', 'list'], settings());
    expect(output).toContain('A copy was begun at 2030-01-31T12:00:00Z and has 3 MB so far.');
    const { exitCode, errors } = await runCommand(['backup'], settings());
    expect([exitCode, errors]).toEqual([
      1,
      expect.stringContaining(`Process ${process.pid} is already taking a copy of the ledger.`),
    ]);
  } finally {
    lock.release();
  }
  expect(await unfinished()).toHaveLength(1);
});

describe('a restore', () => {
  let last = '';
  let id = '';
  beforeAll(async () => {
    id = await transfer();
    await archive();
    await transfer();
    last = await archive();
  });

  test('leaves no usable ledger if it is killed, and the next restore succeeds', async () => {
    const target = inside('killed');
    const temporaries = async () => (await namesIn(target)).filter((name) => name.startsWith('postgresql.restore-'));
    const moments: readonly (() => Promise<boolean>)[] = [
      async () => (await temporaries()).length > 0,
      async () => (await namesIn(join(target, (await temporaries())[0] ?? ''))).includes('postmaster.pid'),
    ];
    const orphans: number[] = [];
    for (const moment of moments) {
      const child = await freezeIn(
        () => startCommand(['restore', 'latest', BACKUP_DIR], { DATA_DIR: target }),
        moment,
        () => rm(target, { recursive: true }),
      );
      await kill(child);
      expect(await namesIn(target)).not.toContain('postgresql');
      const file = join(target, (await temporaries())[0] ?? '', 'postmaster.pid');
      orphans.push(Number.parseInt(await readFile(file, 'utf8').catch(() => '0'), 10));
    }
    expect(await restore(BACKUP_DIR, 'killed')).toMatchObject({ exitCode: 0 });
    expect(await temporaries()).toEqual([]);
    for (const orphan of orphans.filter((one) => one > 0)) expect(await isRunning(orphan)).toBe(false);
    const restored = await startEmbeddedPostgres({ dataDirectory: target });
    const client = await connect({ ...restored.connection, user: 'postgres' });
    const { rows } = await client.query(
      "select from transfer where 'tr_' || replace(transfer_id::text, '-', '') = $1",
      [id],
    );
    expect(rows).toHaveLength(1);
    await client.end();
    await restored.stop();
  });

  const incomplete = async (backup: string, target: string, words: RegExp): Promise<void> => {
    const { exitCode, output, errors } = await restore(backup, target);
    expect([exitCode, output]).toEqual([1, '']);
    expect(errors).toMatch(words);
    expect(errors).toMatch(/\nRunbook: docs\/runbook\/restore-incomplete\.md\n$/);
    expect((await namesIn(inside(target))).filter((name) => name.startsWith('postgresql'))).toEqual([]);
  };

  /** Ways to damage a backup's WAL. Each function returns the pattern of the restore's message. */
  const DAMAGES: Readonly<Record<string, (backup: string) => Promise<RegExp>>> = {
    damaged: async (backup) => {
      // The file contains little more than one transfer.
      await corrupt(join(backup, 'wal', last), 200);
      return /The WAL of the backup is damaged: .*the last transaction that could be replayed is from 2/;
    },
    truncated: async (backup) => {
      await execute('truncate', ['-s', '1000000', join(backup, 'wal', last)]);
      return /has wrong size: 1000000 instead of 16777216/;
    },
    missing: async (backup) => {
      const names = (await namesIn(join(backup, 'wal'))).filter((name) => name.length === 24);
      const missing = names.at(-2) ?? '';
      await rm(join(backup, 'wal', missing));
      const { exitCode, errors } = await runCommand(['backup', 'list'], { BACKUP_DIR: backup });
      expect([exitCode, errors]).toEqual([1, expect.stringContaining(`The WAL file ${missing} is missing`)]);
      return new RegExp(`The WAL file ${missing} is missing`);
    },
  };
  const kinds = Object.keys(DAMAGES);
  // Each run tests a random case. `npm run verify` tests all cases.
  const drawn = kinds[Math.floor(Math.random() * kinds.length)] ?? '';

  test.each(process.env.FAULTS === 'all' ? kinds : [drawn])('is refused if a WAL file is %s', async (kind) => {
    const backup = await copyOfBackup(`wal-${kind}`);
    const words = await DAMAGES[kind]?.(backup);
    await incomplete(backup, `from-${kind}`, words ?? /never/);
  });

  test('uses the previous copy if the newest one is damaged, and names the damaged file', async () => {
    const backup = await copyOfBackup('damaged-copy');
    const newest = (await copies(backup)).at(-1) ?? '';
    await corrupt(join(backup, 'base', newest, 'files', 'global', 'pg_control'), 100);
    const { exitCode, output, errors } = await restore(backup, 'from-older');
    expect(exitCode).toBe(0);
    expect(errors).toContain(
      `The copy ${newest} is damaged: the content of the file global/pg_control was changed. Trying the copy before it.`,
    );
    expect(output).toContain(`From the copy: ${(await copies(backup)).at(-2)}`);
  });

  test('to the latest time uses no copy from before a gap in the WAL, although a restore to an earlier time can', async () => {
    const time = new Date().toISOString();
    await transfer();
    await archive();
    await transfer();
    const missing = await archive();
    expect(await runCommand(['backup'], settings())).toMatchObject({ exitCode: 0 });
    const backup = await copyOfBackup('gap-between-copies');
    const [older = '', newest = ''] = (await copies(backup)).slice(-2);
    await rm(join(backup, 'wal', missing));
    await corrupt(join(backup, 'base', newest, 'files', 'global', 'pg_control'), 100);
    const words = new RegExp(
      `The copy ${older} may be whole, but the WAL file ${missing} after it is missing: .*"--to"`,
    );
    await incomplete(backup, 'across-gap', words);
    const { exitCode, output } = await restore(backup, 'before-gap', time);
    expect([exitCode, output]).toEqual([0, expect.stringContaining(`From the copy: ${older}`)]);
  });

  test('refuses the only copy if its manifest was changed', async () => {
    const backup = await copyOfBackup('damaged-manifest');
    const [newest = '', ...older] = (await copies(backup)).toReversed();
    for (const name of older) await rm(join(backup, 'base', name), { recursive: true });
    await corrupt(join(backup, 'base', newest, 'manifest.json'), 500);
    const { errors } = await restore(backup, 'from-nothing');
    expect(errors).toContain(
      `No copy of the ledger in the directory base can be restored: ${newest}: its manifest is damaged.`,
    );
  });
});

test('a copy fails if its WAL is not archived, and the message gives the reason', async () => {
  const wal = join(BACKUP_DIR, 'wal');
  const before = await copies();
  await rename(wal, `${wal}-gone`);
  const { databaseUrl } = await embeddedServerOf(DATA_DIR);
  const socketDirectory = new URL(databaseUrl.replace('@/', '@localhost/')).searchParams.get('host') ?? '';
  const source = { socketDirectory, dataDirectory: DATA_DIR, wal, base: join(BACKUP_DIR, 'base') };
  await mkdir(wal, { mode: 0o700 });
  await chmod(wal, 0o500);
  const taken = takeCopy(source, { fast: true, archiveTimeoutMilliseconds: 3_000 });
  await expect(taken).rejects.toThrow(/The copy was abandoned, because it cannot be restored without the WAL file 0/);
  expect([await copies(), await unfinished()]).toEqual([before, []]);
  // Transfers do not wait for the archive.
  await transfer();
  await rm(wal, { recursive: true });
  await rename(`${wal}-gone`, wal);
});

test('a full backup disk is reported, and transfers still complete', async (context) => {
  const disk = inside('disk');
  await mkdir(disk);
  // Leaves room for two copies, and for the 16 MB that a slow machine archives each minute.
  const mounted = await execute('mount', ['-t', 'tmpfs', '-o', 'size=448m,mode=711', 'backups', disk]).then(
    () => true,
    () => false,
  );
  if (!mounted) {
    const notRun = 'it needs root, to mount a small file system';
    Object.assign(context.task.meta, { notRun });
    context.skip(notRun);
  }
  const environment = settings({ DATA_DIR: inside('beside'), BACKUP_DIR: disk });
  const beside = await startService(environment);
  try {
    await firstCopy(environment);
    const { bavail, bsize } = await statfs(disk);
    const ballast = join(disk, 'ballast');
    await execute('fallocate', ['-l', String(bavail * bsize - 20_000_000), ballast]);
    const small = await runCommand(['backup'], environment);
    expect([small.exitCode, small.errors]).toEqual([
      1,
      expect.stringMatching(
        /A copy of the ledger has about \d+ MB, and .* has \d+ MB free: the disk is full\. Free up space/,
      ),
    ]);
    // The disk has enough space to begin the copy, but not to finish it.
    await rm(ballast);
    const isUnderWay = async (): Promise<boolean> =>
      (await namesIn(join(disk, 'base'))).some((name) => name.startsWith('.unfinished'));
    const removeNewest = async (): Promise<void> =>
      rm(join(disk, 'base', (await copies(disk)).at(-1) ?? ''), { recursive: true });
    const child = await freezeIn(() => startCommand(['backup'], environment), isUnderWay, removeNewest);
    await execute('sh', ['-c', 'cat /dev/zero > "$1"', 'fill', ballast]).catch(() => undefined);
    let errors = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGCONT');
    expect([await ended, errors]).toEqual([
      1,
      expect.stringMatching(
        /: the disk is full\. Free up space on it and try again\.\nRunbook: docs\/runbook\/disk-full\.md\n$/,
      ),
    ]);
    expect(await isUnderWay()).toBe(false);
    expect((await beside.client.transfers.create({ amount: 1, card_id: 'card_active' })).status).toBe('completed');
    expect(await copies(disk)).toHaveLength(1);
    await rm(ballast);
    expect(await runCommand(['backup'], environment)).toMatchObject({ exitCode: 0 });
  } finally {
    await beside.stop();
    await execute('umount', ['--lazy', disk]);
  }
});
