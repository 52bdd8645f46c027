import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newFolder, programIn, runProgram, startProgram, startService } from './started.ts';

// Tests the service from its tarball, in a folder where only `npm install` was run.

const TRANSFER = '/api/v0.1/core/transfer';

/** Returns the process id of a folder's PostgreSQL, or undefined if it has stopped. */
function postgresOf(folder: string): string | undefined {
  const directory = `${folder}/data/postgresql`;
  return readdirSync(directory).includes('postmaster.pid')
    ? readFileSync(`${directory}/postmaster.pid`, 'utf8').split('\n')[0]
    : undefined;
}

describe('npx transfer-service start', () => {
  test('runs a sandbox with its own PostgreSQL in a new folder: a transfer, an error, and the console', async () => {
    const folder = await newFolder();
    const { url, call, processId } = await startService(folder);
    const created = await call(TRANSFER, { amount: 1000, card_id: 'card_active' });
    expect([created.status, await created.json()]).toEqual([201, expect.objectContaining({ status: 'completed' })]);
    const refused = await call(TRANSFER, { amount: 1000, card_id: 'card_lost' });
    expect([refused.status, await refused.json()]).toEqual([409, expect.objectContaining({ Code: 'card_lost' })]);
    const page = await (await call('/console')).text();
    const [script = ''] = /\/console\/assets\/[^"]+\.js/.exec(page) ?? [];
    expect((await call(script)).status).toBe(200);
    for (const path of [
      '/',
      '/docs',
      '/openapi.json',
      '/adapter-openapi.json',
      '/errors/card_lost',
      '/guides',
      '/guides/quickstart',
    ])
      expect([path, (await call(path)).status]).toEqual([path, 200]);
    // The service runs on its pinned Node, whichever Node the machine has.
    expect(readlinkSync(`/proc/${processId}/exe`)).toMatch(/\/node-linux-(?:x64|arm64)\/bin\/node$/);
    const line = ['npx', 'transfer-service', '--url', url, 'transfers', 'list'];
    expect(await runProgram(line, folder)).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('card_active'),
    });
  });

  test('a SIGTERM to npx stops the service and its PostgreSQL', async () => {
    const folder = await newFolder();
    const { child, output, ended } = await startService(folder);
    expect(postgresOf(folder)).toMatch(/^[0-9]+$/);
    child.kill('SIGTERM');
    // The signal ends npx and its shell, which the service must notice.
    await ended;
    await expect.poll(output).toContain('Stopped.');
    expect(postgresOf(folder)).toBeUndefined();
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('%s to the program itself ends it with exit code 0', async (signal) => {
    const folder = await newFolder();
    const { child, output, ended } = await startService(folder, { command: [programIn(folder), 'start'] });
    child.kill(signal);
    expect(await ended).toBe(0);
    expect(output()).toContain('Stopped.');
    expect(postgresOf(folder)).toBeUndefined();
  });

  test('Ctrl-C stops the service and its PostgreSQL', async () => {
    const folder = await newFolder();
    // Opens a terminal in which a user types Ctrl-C after the service is ready.
    const terminal = ['script', '--quiet', '--return', '--command', 'npx transfer-service start', '/dev/null'];
    const { child, ended, output } = startProgram(terminal, folder, { env: { PORT: '0' }, stdin: 'pipe' });
    await expect.poll(output).toContain('Stop with Ctrl-C');
    child.stdin?.write('\x03');
    await ended;
    await expect.poll(() => postgresOf(folder)).toBeUndefined();
    expect(output()).toContain('Stopped.');
  });

  test('a failed start has exit code 1', async () => {
    const folder = await newFolder();
    const { exitCode, output } = await runProgram(['npx', 'transfer-service', 'start'], folder, { env: { PORT: 'x' } });
    expect({ exitCode, output }).toEqual({ exitCode: 1, output: expect.stringContaining('PORT') });
  });

  test('a second start in the same folder names the process that uses the data directory', async () => {
    const folder = await newFolder();
    const { processId } = await startService(folder);
    const second = await runProgram(['npx', 'transfer-service', 'start'], folder, { env: { PORT: '0' } });
    expect(second.exitCode).toBe(1);
    expect(second.output).toContain(`The data directory ${folder}/data is in use by process ${processId}`);
  });
});

describe('in a clone', () => {
  test('transfer-service start works like npm start, in any folder', async () => {
    const folder = await newFolder();
    const clone = join(import.meta.dirname, '..', '..', 'cli', 'transfer-service.mjs');
    const { call, child, ended, output } = await startService(folder, { command: ['node', clone, 'start'] });
    expect((await call('/console')).status).toBe(200);
    expect(output()).toContain(`Ledger: ${folder}/data/postgresql`);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(postgresOf(folder)).toBeUndefined();
  });
});
