import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newFolder, programIn, runProgram, startService } from './started.ts';

// Tests the parts of the packed service that are loaded by path or on demand, and the commands that use its database.

const TRANSFER = '/api/v0.1/core/transfer';

/** Opens a server that records the paths and bodies of its requests. */
async function openReceiver() {
  const received: { readonly path: string; readonly body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ path: request.url ?? '', body });
    response.writeHead(200).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const bodiesAt = (path: string) => received.filter((one) => one.path === path).map(({ body }) => body);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodiesAt };
}

test('the packed service delivers webhooks, copies the ledger and sends traces', async () => {
  const folder = await newFolder();
  const backups = join(folder, 'backups');
  mkdirSync(backups, { mode: 0o711 });
  const receiver = await openReceiver();
  const env = {
    BACKUP_DIR: backups,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_TRACES_SAMPLER_ARG: '1',
  };
  const { call } = await startService(folder, { env });
  expect((await call('/api/v0.1/core/webhook', { url: `${receiver.url}/hook` })).status).toBe(201);
  expect((await call(TRANSFER, { amount: 1000, card_id: 'card_active' })).status).toBe(201);
  await expect.poll(() => receiver.bodiesAt('/hook').join()).toContain('transfer.completed');
  await expect.poll(() => receiver.bodiesAt('/v1/traces').length).toBeGreaterThan(0);
  // The service takes the first copy when it starts.
  await expect.poll(() => readdirSync(join(backups, 'base')).join()).toMatch(/^[0-9TZ:.-]+$/);
  const list = await runProgram(['npx', 'transfer-service', 'backup', 'list'], folder, { env });
  expect(list).toMatchObject({ exitCode: 0, output: expect.stringContaining('can be restored') });
});

test("the packed service runs in live mode: migrate, the first key, a request with it, and the host's commands", async () => {
  const folder = await newFolder();
  const env = { MODE: 'live', SUPPORT_CONTACT: 'support@example.org' };
  const run = (...line: string[]) => runProgram([programIn(folder), ...line], folder, { env });
  const start = { command: [programIn(folder), 'start'], env };
  expect(await run('migrate')).toMatchObject({ exitCode: 0, output: expect.stringContaining('Applied 0001') });
  const tooEarly = await run('start');
  expect(tooEarly).toMatchObject({
    exitCode: 1,
    output: expect.stringContaining('Live mode requires an operator key'),
  });
  const [, page = ''] =
    /^Runbook: transfer-service runbook operator-key-missing, or (.+)$/m.exec(tooEarly.output) ?? [];
  expect(readFileSync(page, 'utf8')).toMatch(/^# There is no operator key\n/);
  const printed = await run('runbook', 'operator-key-missing');
  expect(printed).toMatchObject({ exitCode: 0, output: readFileSync(page, 'utf8') });
  const { exitCode, output } = await run('operator-key', 'create', '--name', 'first');
  const [key = ''] = /^[a-z]+_[A-Za-z0-9_]{20,}$/m.exec(output) ?? [];
  expect({ exitCode, hasKey: key !== '' }).toEqual({ exitCode: 0, hasKey: true });
  const { call, child, ended } = await startService(folder, start);
  expect((await call('/api/v0.1/operator/status')).status).toBe(401);
  expect((await call('/api/v0.1/operator/status', undefined, { Authorization: `Bearer ${key}` })).status).toBe(200);
  expect(await run('config')).toMatchObject({ exitCode: 0, output: expect.stringContaining('\nMODE=live\n') });
  expect(await run('verify-books')).toMatchObject({ exitCode: 0, output: expect.stringContaining('"balanced": true') });
  expect(await run('audit', 'verify')).toMatchObject({ exitCode: 0, output: expect.stringContaining('is intact') });
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(await run('restore', '--to', 'latest')).toMatchObject({ exitCode: 1 });
});
