import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../server/postgres/embedded-postgres.ts';
import { connect } from '../harness/ledger.ts';
import {
  embeddedServerOf,
  runCommand,
  type ServiceProcess,
  type ServiceSettings,
  startInVain,
  startService,
  temporaryDirectory,
  waitFor,
} from '../harness/process.ts';

import { copyBackup, isRoot, untilCopyEnds } from './directories.ts';

// Backs up a ledger while it is in use. Restores it into a directory next to the original: to a time, to the latest time, and
// again on the timeline of a restored ledger. The tests must run in this order.

let place: Awaited<ReturnType<typeof temporaryDirectory>>;
let DATA_DIR = '';
let BACKUP_DIR = '';
let service: ServiceProcess;
let between = '';
let [early, late] = ['', ''];

const settings = (more: Readonly<Record<string, string>> = {}) => ({
  DATA_DIR,
  BACKUP_DIR,
  LOG_LEVEL: 'silent',
  ...more,
});
const inside = (name: string): string => join(place.path, name);
const restore = (dataDirectory: string, ...words: string[]) =>
  runCommand(['restore', ...words, '--from', BACKUP_DIR], { DATA_DIR: dataDirectory });
const copies = async (): Promise<readonly string[]> =>
  (await readdir(join(BACKUP_DIR, 'base')).catch(() => [])).filter((name) => !name.startsWith('.')).sort();
const state = async (): Promise<Record<string, string>> =>
  JSON.parse(await readFile(join(BACKUP_DIR, 'archive.json'), 'utf8')) as Record<string, string>;

async function transfer({ client }: ServiceProcess): Promise<string> {
  return (await client.transfers.create({ amount: 1, card_id: 'card_active' })).transfer_id;
}

/** Starts a service and waits for its first copy. */
async function startArchiving(environment: ServiceSettings): Promise<ServiceProcess> {
  const before = (await copies()).length;
  const started = await startService(environment);
  await waitFor('the copy', async () => (await copies()).length > before);
  await untilCopyEnds(environment.DATA_DIR);
  return started;
}

/** Ends the current WAL file and waits until it is archived. The service itself does this every few seconds. */
async function archive(dataDirectory: string): Promise<void> {
  const { databaseUrl } = await embeddedServerOf(dataDirectory);
  const client = await connect({ connectionString: databaseUrl.replace('transfer_service@', 'postgres@') });
  try {
    const { rows } = await client.query<{ file: string }>('select pg_walfile_name(pg_switch_wal() - 1) as file');
    const file = rows[0]?.file ?? '';
    await waitFor(file, async () => (await readdir(join(BACKUP_DIR, 'wal'))).includes(file));
  } finally {
    await client.end();
  }
}

/** Returns whether the ledger contains each transfer. */
async function found(dataDirectory: string, ids: readonly string[]): Promise<readonly boolean[]> {
  const restored = await startEmbeddedPostgres({ dataDirectory });
  const client = await connect({ ...restored.connection, user: 'postgres' });
  try {
    const { rows } = await client.query<{ id: string }>(
      "select replace(transfer_id::text, '-', '') as id from transfer",
    );
    return ids.map((id) => rows.some((row) => id === `tr_${row.id}`));
  } finally {
    await client.end();
    await restored.stop();
  }
}

beforeAll(async () => {
  place = await temporaryDirectory();
  DATA_DIR = inside('data');
  BACKUP_DIR = inside('backup');
  await mkdir(BACKUP_DIR);
  service = await startArchiving(settings());
  early = await transfer(service);
  await new Promise((wake) => setTimeout(wake, 20));
  between = new Date().toISOString();
  await new Promise((wake) => setTimeout(wake, 20));
  late = await transfer(service);
  await archive(DATA_DIR);
});
afterAll(async () => {
  if (service?.child.exitCode === null && service.child.signalCode === null) await service.stop();
  await place?.remove();
});

test('lists the copies and the times that can be restored', async () => {
  const { exitCode, output } = await runCommand(['backup', 'list'], settings());
  expect(exitCode).toBe(0);
  expect(output).toMatch(
    /^\d{8}T\d{6}Z +\d+ MB {2}complete\nWAL: \d+ files\. .*\nAny time from \S+Z (?:on|on, as soon as it is archived,|to \S+Z) can be restored\.\n$/,
  );
});

test('restores to a time, without later changes, and reports which checks passed', async () => {
  const target = inside('to-time');
  const { exitCode, output, errors } = await restore(target, '--to', between);
  expect([exitCode, errors]).toEqual([0, expect.stringContaining('Replaying the WAL')]);
  expect(output).toContain(`Restored up to: ${between}\nLast transaction: 2`);
  expect(output).toMatch(/^Books: balanced in (?:one currency|\d currencies);/m);
  expect(output).toMatch(/^Audit head: [0-9a-f]{64} at position \d+$/m);
  expect(output).toContain('Migrations: all known, none missing.');
  expect(output).toMatch(
    /^Restored to .*\n\nA trial\? .* Ignore the steps below\.\nDo not start the service on it: .*\n\n/m,
  );
  expect(output).toContain('To replace the previous ledger, you still have to do this:\n1. ');
  expect(await found(target, [early, late])).toEqual([true, false]);
  expect(await readdir(target)).not.toContainEqual(expect.stringContaining('postgresql.restore-'));
});

test('refuses a second restore into the same directory, and changes nothing', async () => {
  const target = inside('to-time');
  const before = await stat(join(target, 'postgresql'));
  const { exitCode, output, errors } = await restore(target, '--to', 'latest');
  expect([exitCode, output]).toEqual([1, '']);
  expect(errors).toBe(
    `There is already a ledger in ${target}/postgresql, and a restore never writes over one. Set DATA_DIR to a new directory.\n` +
      'Runbook: docs/runbook/restore-refused.md\n',
  );
  expect((await stat(join(target, 'postgresql'))).ino).toBe(before.ino);
});

describe('a time that cannot be restored is refused, and the message names the times that can', () => {
  test.each([
    ['2020-01-01T00:00:00Z', /before the first copy that can be restored: the earliest time is \d{4}-/],
    ['2999-01-01T00:00:00Z', /is in the future/],
    ['yesterday', /must be "latest" or a time with its zone/],
    ['2030-01-31T12:00:00', /must be "latest" or a time with its zone/],
  ])('%s', async (to, words) => {
    const { exitCode, output, errors } = await restore(inside('never'), '--to', to);
    expect([exitCode, output]).toEqual([1, '']);
    expect(errors).toMatch(words);
    expect(await readdir(place.path)).not.toContain('never');
  });

  test('after the last WAL', async () => {
    const backup = inside('backup-so-far');
    await copyBackup(BACKUP_DIR, backup);
    const to = new Date().toISOString();
    const words = ['restore', '--to', to, '--from', backup];
    const { exitCode, errors } = await runCommand(words, { DATA_DIR: inside('too-late') });
    expect(exitCode).toBe(1);
    expect(errors).toMatch(
      new RegExp(
        `The backup ends before ${to}: the last transaction that could be replayed is from 2.*Use "--to latest"`,
      ),
    );
    expect(await readdir(inside('too-late'))).not.toContain('postgresql');
  });
});

test("WAL that PostgreSQL's user cannot read is refused, and the message explains how to fix this", async () => {
  const backup = inside('fetched');
  await copyBackup(BACKUP_DIR, backup);
  // If the test runs as root, it changes the directory's owner. Otherwise, it removes the user's own permission.
  const command = isRoot ? ['chown', '-R', '0:0'] : ['chmod', '-R', 'u-r'];
  const names = isRoot ? [] : await readdir(join(backup, 'wal'));
  const files = isRoot ? [join(backup, 'wal')] : names.map((name) => join(backup, 'wal', name));
  await promisify(execFile)(command[0] ?? '', [...command.slice(1), ...files]);
  const words = ['restore', '--to', 'latest', '--from', backup];
  const { exitCode, errors } = await runCommand(words, { DATA_DIR: inside('unread') });
  expect([exitCode, errors]).toEqual([
    1,
    expect.stringMatching(/^PostgreSQL runs as \w+, who cannot read \S+\. Run 'chown -R /m),
  ]);
});

test('refuses a backup directory without backups, and DATABASE_URL', async () => {
  const empty = inside('empty');
  await mkdir(empty);
  const nothing = await runCommand(['restore', '--to', 'latest', '--from', empty], { DATA_DIR: inside('never') });
  expect(nothing.errors).toContain(`There is no backup in ${empty} (--from)`);
  const own = { DATABASE_URL: 'postgresql://localhost/ledger' };
  const { errors } = await startInVain(settings(own));
  expect(errors).toContain('BACKUP_DIR is ');
  expect(errors).toMatch(
    /pgBackRest as the guide "Backups" describes\.\nRunbook: docs\/runbook\/backup-of-own-database\.md\n$/,
  );
  expect((await runCommand(['restore', '--to', 'latest', '--from', BACKUP_DIR], own)).errors).toContain(
    'DATABASE_URL is set',
  );
});

test('restores to a time after the last transaction, once the service has recorded that no WAL is missing', async () => {
  await service.stop();
  const idle = new Date().toISOString();
  const before = (await state()).coveredUntil ?? '';
  service = await startService(settings());
  await waitFor(
    'the note',
    async () => ((await state()).coveredUntil ?? '') > before && ((await state()).coveredUntil ?? '') > idle,
  );
  // The start also writes to the ledger, so the last transaction can be before or after that time.
  const target = inside('idle');
  const { exitCode, output } = await restore(target, '--to', (await state()).coveredUntil ?? '');
  expect([exitCode, output]).toEqual([0, expect.stringContaining('Restored to ')]);
  expect(await found(target, [early, late])).toEqual([true, true]);
});

describe('a restored ledger', () => {
  const restored = () => settings({ DATA_DIR: inside('latest') });

  test('does not start with the BACKUP_DIR of an original that still archives', async () => {
    const { exitCode } = await restore(inside('latest'), '--to', 'latest');
    expect(exitCode).toBe(0);
    const { errors } = await startInVain(restored());
    expect(errors).toContain(`BACKUP_DIR, ${BACKUP_DIR}, is in use by the ledger in ${DATA_DIR} on `);
    expect(errors).toContain('Runbook: docs/runbook/backup-directory-taken.md');
  });

  test('archives on its own timeline and takes a copy once the original has stopped', async () => {
    // A normal stop releases the directory.
    await service.stop();
    service = await startArchiving(restored());
    expect(await state()).toMatchObject({ timeline: 2, dataDirectory: inside('latest') });
    expect(await readdir(join(BACKUP_DIR, 'wal'))).toContain('00000002.history');
    const further = await transfer(service);
    await archive(inside('latest'));
    const ways: readonly (readonly [words: readonly string[], found: readonly boolean[]])[] = [
      [['latest'], [true, true, true]],
      // Uses the copies and WAL of the first timeline, and follows the branch to the second timeline.
      [[between], [true, false, false]],
      [
        ['latest', '--timeline', '1'],
        [true, true, false],
      ],
    ];
    const drawn = Math.floor(Math.random() * ways.length);
    for (const [number, [words, expected]] of ways.entries()) {
      // Each run tests a random case. `npm run verify` tests all cases.
      if (process.env.FAULTS !== 'all' && number !== drawn) continue;
      const target = inside(`way-${number}`);
      expect(await restore(target, '--to', ...words)).toMatchObject({ exitCode: 0 });
      expect(await found(target, [early, late, further]), words.join(' ')).toEqual(expected);
    }
  });

  test('locks out the original, and another ledger on the same timeline', async () => {
    expect((await startInVain(settings())).errors).toContain('is in use by the ledger in ');
    await service.stop();
    const stopped = await readFile(join(BACKUP_DIR, 'archive.json'), 'utf8');
    const ahead = { ...JSON.parse(stopped), seenAt: new Date(Date.now() + 86_400_000).toISOString() };
    await writeFile(join(BACKUP_DIR, 'archive.json'), JSON.stringify(ahead));
    expect((await startInVain(settings())).errors).toContain("By this machine's clock, that is in the future");
    await writeFile(join(BACKUP_DIR, 'archive.json'), stopped);
    expect((await startInVain(settings())).errors).toContain('already has the WAL that the ledger in ');
    expect((await startInVain(settings({ DATA_DIR: inside('to-time') }))).errors).toMatch(
      /already has the WAL that the ledger in .* wrote on timeline 2/,
    );
  });

  test('prevents the creation of a new ledger with the same backup directory', async () => {
    const { exitCode, errors } = await startInVain(settings({ DATA_DIR: inside('new') }));
    expect(exitCode).toBe(1);
    expect(errors).toContain(`has the backups of a ledger, but there is no ledger in ${inside('new')}`);
    expect(errors).toContain('"npx transfer-service restore --to latest"');
    expect(await readdir(inside('new'))).not.toContain('postgresql');
  });

  test('notices that its backup directory was emptied', async () => {
    const aside = inside('aside');
    await cp(join(BACKUP_DIR, 'archive.json'), aside);
    await rm(join(BACKUP_DIR, 'archive.json'));
    const { errors } = await startInVain(restored());
    expect(errors).toContain(`BACKUP_DIR, ${BACKUP_DIR}, has no backups, but this ledger has archived into it before.`);
    await cp(aside, join(BACKUP_DIR, 'archive.json'));
  });
});
