import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type CommandAccess, openLedgerForCommand } from '../../server/postgres/command-access.ts';
import { isAlive } from '../../server/postgres/processes.ts';
import { cleanUpAfterTests, isRoot, kill, makeDirectory, makeLedger, query, runOwner, start } from './directories.ts';

// Tests that commands can open the ledger in a data directory, whether or not the service is running.

cleanUpAfterTests();
const visits: CommandAccess[] = [];
afterEach(async () => {
  for (const visit of visits.splice(0)) await visit.close();
});

const existing = { origin: "DATA_DIR is './dta'" };

async function visit(dataDirectory: string, timeoutMilliseconds?: number): Promise<CommandAccess> {
  const visited = await openLedgerForCommand({ dataDirectory, existing, task: 'verify-books' }, timeoutMilliseconds);
  visits.push(visited);
  return visited;
}

const serverOf = (visited: CommandAccess): Promise<unknown> =>
  query({ connection: { ...visited.connection, user: 'postgres' } }, 'select pg_backend_pid() > 0 as works');

test('uses the server of a running service and keeps it running', async () => {
  const directory = await makeLedger();
  const owner = await runOwner('start', directory);
  const visited = await visit(directory);
  expect(visited.connection).toEqual(owner.connection);
  expect(await serverOf(visited)).toEqual([{ works: true }]);
  await visited.close();
  expect(await serverOf(visited)).toEqual([{ works: true }]);
});

test('starts and stops a server if no service is running, and refuses a service that starts in the meantime', async () => {
  const directory = await makeLedger();
  const visited = await visit(directory);
  expect(await serverOf(visited)).toEqual([{ works: true }]);
  const service = await runOwner('start', directory);
  expect(service.message).toContain(`process ${process.pid}, which is running the command verify-books. Try again`);
  await visited.close();
  await expect(serverOf(visited)).rejects.toThrow('ENOENT');
  expect((await runOwner('start', directory)).won).toBe(true);
});

test('waits for a service whose server is down', async () => {
  const directory = await makeLedger();
  const owner = await start(directory);
  await owner.pause();
  // Allows enough time for a busy machine.
  const visiting = visit(directory, 120_000);
  await owner.resume();
  expect((await visiting).connection).toEqual(owner.connection);
});

test('stops the server of a killed service and starts a new one', async () => {
  const directory = await makeLedger();
  const owner = await runOwner('start', directory);
  await kill(owner.process);
  expect(await serverOf(await visit(directory))).toEqual([{ works: true }]);
  expect(isAlive(owner.serverProcessId ?? 0)).toBe(false);
});

test('reports a service without a server, with the reason', async () => {
  const directory = await makeLedger();
  const { process: owner } = await runOwner('lock', directory);
  await expect(visit(directory, 0)).rejects.toThrow(
    new RegExp(`in use by process ${owner.pid} on .*cannot be reached: none is running in ${directory}/postgresql`),
  );
});

test('refuses to use the server of another data directory', async () => {
  const [directory, other] = [await makeLedger(), await makeLedger()];
  const [own, another] = [await runOwner('start', directory), await runOwner('start', other)];
  const file = join(directory, 'postgresql', 'postmaster.pid');
  const lines = (await readFile(file, 'utf8')).split('\n');
  expect(lines[4]).toBe(own.connection?.host);
  lines[4] = another.connection?.host ?? '';
  await writeFile(file, lines.join('\n'));
  await expect(visit(directory, 0)).rejects.toThrow(`the server at its socket uses ${other}/postgresql`);
  // Any user can create a directory in /tmp, so the command must check whose directory it is.
  lines[4] = await makeDirectory(0o755);
  await writeFile(file, lines.join('\n'));
  await expect(visit(directory, 0)).rejects.toThrow('does not exist or does not belong to');
});

test('creates nothing if the directory has no ledger', async () => {
  const empty = await makeDirectory();
  const missing = join(empty, 'not', 'there');
  await expect(visit(missing)).rejects.toThrow(
    `There is no ledger in ${missing} (DATA_DIR is './dta'), and none was created.`,
  );
  await expect(visit(empty)).rejects.toThrow(`There is no ledger in ${empty} (`);
  expect(await readdir(empty)).toEqual([]);
  const file = join(await makeDirectory(), 'file');
  await writeFile(file, '');
  for (const path of [file, join(file, 'below')])
    await expect(visit(path)).rejects.toThrow(/no ledger|not a directory/);
});

test('finds a ledger outside its data directory after the data directory was removed', async () => {
  const systemDirectory = join(await makeDirectory(0o755), 'system');
  const directory = join(await makeDirectory(0o700), 'data');
  const first = await start(directory, { systemDirectory });
  await first.stop();
  const found = openLedgerForCommand({ dataDirectory: directory, systemDirectory, existing });
  expect((await found).connection.host).toBe(first.connection.host);
  await (await found).close();
  expect(first.moved).toBe(isRoot);
});
