import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OPERATIONS } from '../../contract/operations.ts';
import type { ServiceStatus } from '../../sdk/client.ts';
import { operatorKey, withSecret } from '../harness/keys.ts';
import { runCommand, waitFor } from '../harness/process.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { useOwnService } from '../harness/service.ts';
import { deadUrl } from '../sdk/canned-service.ts';
import { untilReadinessIs } from './readiness-response.ts';

// Tests get_status and its command for a healthy service, for a degraded one, and for one without its database.

const STATUS = '/api/v0.1/operator/status';
/** This service has too few connections for the delivery thread. */
const service = useOwnService('It compares the figures of the whole service.', { DATABASE_CONNECTIONS: '7' });
const status = (): Promise<ServiceStatus> => service().client.status.get();
const concern = async (name: string) => (await status()).degraded.find((one) => one.name === name);
const command = () => runCommand(['status'], { TRANSFER_SERVICE_URL: service().url });

async function get(path: string, key: string): Promise<number> {
  return (await sendRaw(service().url, { method: 'GET', path, headers: { Authorization: `Bearer ${key}` } })).status;
}

test('everything about a healthy service is shown', async () => {
  await untilReadinessIs(service().url, 'ready');
  // A service that is starting can be degraded for a moment.
  await expect.poll(status).toMatchObject({
    mode: 'sandbox',
    process_id: service().child.pid,
    readiness: { ready: true, reason: 'ready', runbook: null },
    degraded: [],
    unknown: [],
    schema: { state: 'current', newest_migration: expect.stringMatching(/^\d{4}_[a-z_]+\.sql$/) },
    database: { kind: 'embedded', state: 'up', version: expect.stringMatching(/^\d+\./), waits_for_standby: false },
    connections: { max: 7 },
    webhooks: { delivery: 'no_webhooks', enabled: 0 },
    error_log: { dropped: 0 },
    switch: { service_disabled: false, programs_disabled: 0, connectors_disabled: 0 },
    funding_low: 0,
  });
  expect((await status()).database.size_bytes).toBeGreaterThan(1e6);
  const { exitCode, output } = await command();
  expect(exitCode).toBe(0);
  expect(output).toMatch(/^ready: +yes \(ready\) since /);
});

test('each degradation is listed with a page of the runbook', async () => {
  const { client } = service();
  await client.switch.change({ disabled: true, reason: 'a test' });
  expect(await concern('service_disabled')).toEqual({
    name: 'service_disabled',
    message: 'Transfers of the whole service are disabled by the switch.',
    runbook: 'docs/runbook/service-disabled.md',
  });
  await client.switch.change({ disabled: false });
  const program = await client.programs.create({ name: 'Poor', currency: 'USD' });
  const { program_id } = program;
  await client.switch.change({ program_id, type: 'load', disabled: true, reason: 'a test' });
  expect((await concern('service_disabled'))?.message).toBe(
    "Loads of the card program 'Poor' are disabled by the switch.",
  );
  await client.switch.change({ program_id, type: 'load', disabled: false });
  const at = { connector_id: 'simulator', program_id };
  const { since } = await client.switch.change({ ...at, disabled: true, reason: 'a test' });
  expect((await concern('service_disabled'))?.message).toBe(
    `All transfers at the connector 'simulator' in some card programs are disabled by the switch (since ${since}: a test).`,
  );
  expect((await status()).switch).toEqual({ service_disabled: false, programs_disabled: 0, connectors_disabled: 1 });
  await client.switch.change({ ...at, type: 'load', disabled: true, reason: 'another' });
  expect((await concern('service_disabled'))?.message).toBe(
    "All transfers at the connector 'simulator' in some card programs are disabled by 2 settings of the switch.",
  );
  await client.switch.change({ ...at, type: 'load', disabled: false });
  await client.switch.change({ ...at, disabled: false });
  await client.programs.update(program_id, { funding_low_threshold: 1 });
  expect((await concern('funding_low'))?.message).toBe('The funding of 1 card program is below its threshold.');
  await client.webhooks.create({ url: 'http://127.0.0.1:9/hooks' });
  await waitFor('delivery', async () => (await status()).webhooks.delivery === 'off');
  expect(await concern('delivery_off')).toMatchObject({ runbook: 'docs/runbook/delivery-off.md' });
  const { degraded } = await status();
  for (const { runbook } of degraded) expect(existsSync(resolve(import.meta.dirname, '../..', runbook))).toBe(true);
  const { exitCode, output } = await command();
  expect(exitCode).toBe(0);
  const served = (path: string) => `${service().url}/guides/runbook/${basename(path, '.md')}`;
  for (const { name, message, runbook } of degraded) {
    expect(output).toContain(`\n${name}: ${message}\n  Runbook: ${served(runbook)}\n`);
  }
});

test("the process's own figures are shown without its database", async () => {
  const key = await withSecret(service().client.keys.create(operatorKey('status')));
  const revoked = await withSecret(service().client.keys.create(operatorKey('revoked')));
  for (const one of [key, revoked]) expect(await get(STATUS, one.key)).toBe(200);
  await service().client.keys.revoke(revoked.key_id);
  await waitFor('the revocation', async () => (await get(STATUS, revoked.key)) === 401);
  await service().client.sandbox.stopDatabase();
  try {
    await untilReadinessIs(service().url, 'database_stopped');
    expect(await status()).toMatchObject({
      readiness: { ready: false, reason: 'database_stopped', runbook: 'docs/runbook/database-stopped.md' },
      unknown: ['ledger', 'webhooks', 'server', 'schema', 'days'],
      schema: { state: null, newest_migration: null },
      database: { kind: 'embedded', state: 'stopped', version: null, size_bytes: null },
      connections: { max: 7 },
      relay_lag_seconds: null,
      switch: { service_disabled: null, programs_disabled: null, connectors_disabled: null },
      books: { verified_at: null, balanced: null },
    });
    // Waits longer than the service remembers a key.
    await sleep(1_100);
    expect(await get(STATUS, key.key)).toBe(200);
    // This operation needs the database only to check the key.
    const { path, method } = OPERATIONS.stop_database;
    const headers = { Authorization: `Bearer ${key.key}` };
    expect((await sendRaw(service().url, { method, path, headers })).status).toBe(500);
    expect(await get(STATUS, revoked.key)).toBe(500);
    const { exitCode, output } = await command();
    expect(exitCode).toBe(3);
    expect(output).toMatch(/^ready: +no \(database_stopped\) since /);
    expect(output).toContain(`\n  Runbook: ${service().url}/guides/runbook/database-stopped\n`);
    expect(output).toContain('Unavailable while the database is down: ledger, webhooks, server, schema, days.\n');
  } finally {
    await service().client.sandbox.startDatabase();
  }
  await untilReadinessIs(service().url, 'ready');
});

test('without a service, the command reports this and explains how to start it', async () => {
  const { exitCode, errors } = await runCommand(['status'], { TRANSFER_SERVICE_URL: await deadUrl() });
  expect(exitCode).toBe(4);
  expect(errors).toContain('Is the service running? Start it: transfer-service start\n');
});
