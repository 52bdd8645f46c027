import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { findLockOwner, lockDataDirectory, openDataDirectory } from '../../server/foundation/data-directory.ts';
import { StartupProblem } from '../../server/foundation/startup-problem.ts';
import { cleanUpAfterTests, isRoot, kill, makeDirectory, runOwner } from './directories.ts';

cleanUpAfterTests();

test("refuses a second owner, and names the first owner's process id and the directory as it was given", async () => {
  const directory = await makeDirectory();
  const first = await runOwner('lock', directory);
  await expect(lockDataDirectory(directory, './data')).rejects.toMatchObject({
    name: 'StartupProblem',
    message:
      `The data directory ./data is in use by process ${first.process.pid}. ` +
      'Stop it first, or set DATA_DIR to another directory.',
  });
});

test('lets a new owner take the lock of a killed one, and then names the new owner', async () => {
  const directory = await makeDirectory();
  const first = await runOwner('lock', directory);
  await kill(first.process);
  const lock = await lockDataDirectory(directory, directory);
  expect(JSON.parse(await readFile(join(directory, 'lock-owner.json'), 'utf8'))).toMatchObject({
    processId: process.pid,
  });
  const second = await runOwner('lock', directory);
  expect(second.message).toContain(`in use by process ${process.pid}.`);
  lock.release();
});

test('refuses a second lock by the same process, and keeps the first', async () => {
  const directory = await makeDirectory();
  const lock = await lockDataDirectory(directory, directory);
  await expect(lockDataDirectory(directory, directory)).rejects.toThrow(`process ${process.pid}`);
  expect((await runOwner('lock', directory)).won).toBe(false);
  lock.release();
  lock.release();
  expect((await runOwner('lock', directory)).won).toBe(true);
});

test('checks a lock without taking it, and without making another process fail to take it', async () => {
  const directory = await makeDirectory();
  expect(findLockOwner(directory)).toBeUndefined();
  expect(await readdir(directory)).toEqual([]);
  const owner = await runOwner('lock', directory);
  expect(findLockOwner(directory)).toMatchObject({ processId: owner.process.pid, task: null });
  await kill(owner.process);
  expect(findLockOwner(directory)).toBeUndefined();
  // A check holds this read lock only for a moment. The test holds it longer, so a process that wants the lock must
  // retry.
  const look = new DatabaseSync(join(directory, 'lock'), { readOnly: true });
  look.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
  const locking = lockDataDirectory(directory, directory);
  look.close();
  (await locking).release();
});

test('names the command that uses the directory', async () => {
  const directory = await makeDirectory();
  const lock = await lockDataDirectory(directory, directory, 'verify-books');
  await expect(lockDataDirectory(directory, './data')).rejects.toThrow(
    `The data directory ./data is in use by process ${process.pid}, which is running the command verify-books. ` +
      'Try again when the command has finished.',
  );
  lock.release();
});

test('lets exactly one of several concurrent starts become the owner', async () => {
  for (let round = 1; round <= 5; round += 1) {
    const directory = await makeDirectory();
    const starters = await Promise.all([1, 2, 3, 4].map(() => runOwner('lock', directory)));
    const [winner, ...others] = starters.filter(({ won }) => won);
    expect(others).toEqual([]);
    for (const { won, message } of starters) {
      if (!won) expect(message).toContain(`in use by process ${winner?.process.pid}.`);
    }
    for (const starter of starters) await kill(starter.process);
  }
});

test('reports an unusable lock file in one sentence', async () => {
  const directory = await makeDirectory();
  await mkdir(join(directory, 'lock'));
  await expect(lockDataDirectory(directory, directory)).rejects.toThrow(StartupProblem);
  await expect(lockDataDirectory(directory, directory)).rejects.toThrow(/cannot be locked by the user/);
});

test('refuses a data directory that is a file or inside one', async () => {
  const file = join(await makeDirectory(), 'file');
  await writeFile(file, '');
  await expect(openDataDirectory(file, isRoot)).rejects.toThrow(StartupProblem);
  await expect(openDataDirectory(file, isRoot)).rejects.toThrow(/is not a directory/);
  await expect(openDataDirectory(join(file, 'below'), isRoot)).rejects.toThrow(/is not a directory/);
});

test('refuses a data directory that it cannot write to', async () => {
  // Permissions do not stop root, but no user can write to /proc.
  const directory = isRoot ? '/proc/data' : await makeDirectory(0o500);
  await expect(openDataDirectory(directory, isRoot)).rejects.toThrow(StartupProblem);
  await expect(openDataDirectory(directory, isRoot)).rejects.toThrow(/set DATA_DIR to another directory/i);
});
