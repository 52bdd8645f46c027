import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chooseServerUser } from '../ledger-location.ts';
import { punchHole, removeAbandoned } from './archive.ts';
import { type BackupDirectory, openBackupDirectory } from './backup-directory.ts';
import { SEGMENT_BYTES } from './wal-files.ts';

let path = '';
let directory: BackupDirectory;

beforeAll(async () => {
  path = await mkdtemp(join(tmpdir(), 'transfer-service-archive-'));
  await chmod(path, 0o711);
  await mkdir(join(path, 'backup'));
  directory = await openBackupDirectory(join(path, 'backup'), [], await chooseServerUser());
});
afterAll(() => rm(path, { recursive: true, force: true }));

async function makeFile(name: string, contentBytes: number): Promise<Buffer> {
  const content = Buffer.alloc(SEGMENT_BYTES);
  randomBytes(contentBytes).copy(content);
  await writeFile(join(directory.wal, name), content);
  return content;
}

const NAME = '000000010000000000000007';

test('frees the disk space of the zeros at the end of a file, and keeps its content', async () => {
  const content = await makeFile(NAME, 300_000);
  await punchHole(directory, NAME);
  expect((await readFile(join(directory.wal, NAME))).equals(content)).toBe(true);
  const { blocks, uid } = await stat(join(directory.wal, NAME));
  expect(blocks * 512).toBeLessThan(1_000_000);
  expect(uid).toBe(directory.user.uid);
  expect(await readdir(directory.wal)).toEqual([NAME]);
});

test('leaves a full file and a shorter file unchanged', async () => {
  await makeFile(NAME, SEGMENT_BYTES);
  const before = await stat(join(directory.wal, NAME));
  await punchHole(directory, NAME);
  expect((await stat(join(directory.wal, NAME))).ino).toBe(before.ino);
  await writeFile(join(directory.wal, NAME), Buffer.alloc(1_000));
  await punchHole(directory, NAME);
  expect((await stat(join(directory.wal, NAME))).size).toBe(1_000);
});

test("does not follow links, because the directory belongs to PostgreSQL's user", async () => {
  const target = join(path, 'secret');
  await writeFile(target, Buffer.alloc(SEGMENT_BYTES));
  await rm(join(directory.wal, NAME));
  await symlink(target, join(directory.wal, NAME));
  await expect(punchHole(directory, NAME)).rejects.toThrow('ELOOP');
});

test('removes old temporary files of failed archiving', async () => {
  const old = join(directory.wal, 'archtemp.000000010000000000000008.1.1');
  const recent = 'archtemp.000000010000000000000008.1.2';
  await writeFile(old, 'x');
  await utimes(old, 0, 0);
  await writeFile(join(directory.wal, recent), 'x');
  await removeAbandoned(directory.wal);
  expect((await readdir(directory.wal)).sort()).toEqual([NAME, recent].sort());
});
