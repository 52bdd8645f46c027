import { readdir, readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { lockDataDirectory } from '../../../server/foundation/data-directory.ts';
import { ledgerDirectory } from '../../harness/ledger-directory.ts';
import { embeddedServerOf, runCommand, type ServiceProcess, startService } from '../../harness/process.ts';
import { useDirectory } from '../../harness/service.ts';

// Tests that `config` prints the settings of a data directory's running services, even if the shell of `config` has
// different ones.

const directory = await useDirectory(ledgerDirectory);
let first: ServiceProcess;
let second: ServiceProcess;
const runningIn = (number: number): string => join(directory.path, 'running', String(number));
const config = (environment: Readonly<Record<string, string>> = {}) =>
  runCommand(['config'], { DATA_DIR: directory.path, ...environment });

/** Returns the process id and port in the heading above each service's settings. */
const headingsOf = (output: string) =>
  [...output.matchAll(/^# In force in process (\d+), started at [-0-9T:.]+Z, on port (\d+):$/gm)].map(
    ([, processId, port]) => [Number(processId), port],
  );

afterAll(async () => {
  await second?.stop();
  await first?.stop();
});

test('without a service, config prints the settings of a start from this shell and creates nothing', async () => {
  const DATA_DIR = join(directory.path, 'not', 'there');
  const { exitCode, output, errors } = await config({ DATA_DIR, PORT: '9000' });
  expect([exitCode, errors]).toEqual([0, '']);
  expect(output).toContain(`# No service runs with the data directory ${DATA_DIR} (DATA_DIR is '${DATA_DIR}').\n`);
  expect(output).toContain('\nPORT=9000\n');
  expect(await readdir(directory.path)).not.toContain('not');
});

test('config prints the settings of each running service, and shows and stores no secret', async () => {
  const DATA_DIR = directory.path;
  first = await startService({ DATA_DIR, ERROR_RETENTION_DAYS: '7' });
  const { databaseUrl } = await embeddedServerOf(DATA_DIR);
  const DATABASE_URL = databaseUrl.replace('transfer_service@', 'transfer_service:geheim@');
  second = await startService({ DATA_DIR, DATABASE_URL, TRUSTED_PROXIES: '2' });
  // This shell has settings with which no service could start.
  const { exitCode, output, errors } = await config({ PORT: 'eighty', MODE: 'live' });
  expect([exitCode, errors]).toEqual([0, '']);
  const ports = [first, second].map(({ url }) => new URL(url).port);
  expect(headingsOf(output)).toEqual([
    [first.child.pid, ports[0]],
    [second.child.pid, ports[1]],
  ]);
  const [, one = '', other = ''] = output.split(/^# In force.*$/m);
  for (const line of ['MODE=sandbox', 'PORT=0', 'ERROR_RETENTION_DAYS=7', 'DATABASE_URL=(embedded PostgreSQL)']) {
    expect(one).toContain(`\n${line}\n`);
  }
  expect(other).toContain('\nTRUSTED_PROXIES=2\n');
  expect(other).toContain('\nDATABASE_URL=postgresql://transfer_service:***@');
  const file = join(runningIn(2), 'settings.json');
  for (const text of [output, await readFile(file, 'utf8')]) expect(text).not.toContain('geheim');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(runningIn(2))).mode & 0o777).toBe(0o700);
});

test('config ignores the file of a killed service, even if its process id is reused', async () => {
  await second.kill();
  expect(JSON.parse(await readFile(join(runningIn(2), 'settings.json'), 'utf8'))).toMatchObject({
    processId: second.child.pid,
    host: hostname(),
  });
  expect(headingsOf((await config()).output).map(([processId]) => processId)).toEqual([first.child.pid]);
  const lock = await lockDataDirectory(runningIn(2), runningIn(2));
  expect(headingsOf((await config()).output).map(([processId]) => processId)).toEqual([first.child.pid]);
  lock.release();
});

test('a stopped service removes its file', async () => {
  expect(await first.stop()).toBe(0);
  expect(await readdir(runningIn(1))).not.toContain('settings.json');
  expect((await config()).output).toContain('# No service runs with the data directory');
});
