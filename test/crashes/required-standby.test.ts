import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { TransferBatchOutcomes } from '../../contract/transfers.ts';
import { KEY_TEXT, type Ledger, openLedger, urlOf } from '../harness/ledger.ts';
import { runCommand, type ServiceProcess, type ServiceSettings, startService, waitFor } from '../harness/process.ts';
import { type DatabaseProxy, startProxy } from '../harness/proxy.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { useDirectory } from '../harness/service.ts';
import { type Pair, STANDBY, startPair } from '../harness/standby.ts';
import { untilReadinessIs } from '../start/readiness-response.ts';

// Tests DATABASE_STANDBY=required. The tests set or empty synchronous_standby_names and reload the configuration.

/**
 * The deadline of a call that is expected to time out, in milliseconds. It leaves enough time for the call's earlier
 * steps on a busy machine.
 */
const BRIEF = 5000;

const CARD = { amount: 1, card_id: 'card_active' };

const directory = await useDirectory();
let pair: Pair;
let settings: ServiceSettings;
let service: ServiceProcess;
/** The proxy between PostgreSQL and `ledger`. */
let proxy: DatabaseProxy;
/** A ledger without the service's time limits, so that a COMMIT waits until the test ends the wait. */
let ledger: Ledger;

beforeAll(async () => {
  pair = await startPair();
  const { connection } = pair.primary;
  settings = { DATABASE_URL: urlOf(connection), DATABASE_STANDBY: 'required', DATA_DIR: directory.path };
  service = await startService(settings);
  proxy = await startProxy(connection.host);
  ledger = openLedger({ ...connection, host: proxy.host, requiresStandby: true });
});

afterAll(async () => {
  await ledger.close();
  await proxy.close();
  await service.stop();
  await pair.stop();
});

afterEach(async () => {
  await pair.setNames(STANDBY);
  await pair.bringBack();
  await untilReadinessIs(service.url, 'ready');
});

const send = (body: object, key: string, path = '/api/v0.1/core/transfer') =>
  sendRaw(service.url, { path, body, headers: { 'Idempotency-Key': key } });

/** Returns the number of committed fences, and the number of these keys that have a stored response. */
async function written(keys: readonly string[]): Promise<readonly [bigint | number, bigint | number]> {
  const [row] = await pair.ask<{ fences: number; used: number }>(
    `select (select count(*) from write_batch where not abandoned)::integer as fences,
      (select count(*) from idempotency where ${KEY_TEXT} = any ($1))::integer as used`,
    [keys],
  );
  return [row?.fences ?? -1, row?.used ?? -1];
}

test('transfers and their replays succeed while a standby is set', async () => {
  const key = randomUUID();
  const { status, text } = await send(CARD, key);
  expect(status).toBe(201);
  expect(await send(CARD, key)).toMatchObject({ status: 201, text });
});

test('a transfer takes two round trips, as it does without a required standby', async () => {
  const transfer = () => ledger.call('create_transfer', CARD, { idempotencyKey: randomUUID() });
  await transfer();
  const before = proxy.turns();
  for (let count = 0; count < 10; count += 1) await transfer();
  expect(proxy.turns() - before).toBe(20);
});

test('every write is refused and writes nothing while no standby is set, and succeeds once one is set again', async () => {
  const keys = Array.from({ length: 40 }, () => randomUUID());
  const [first = '', ...others] = keys;
  await pair.setNames('');
  const [fences] = await written(keys);
  const refused = await send(CARD, first);
  expect(refused).toMatchObject({
    status: 503,
    headers: {
      'error-code': 'service_unavailable',
      'money-moved': 'no',
      readiness: 'standby_not_set',
      runbook: 'docs/runbook/standby-missing.md',
      'retry-after': '10',
    },
  });
  expect(refused.text).toContain('The database has no synchronous standby configured, but the service requires one');
  // These transfers run in chained groups. The batch and the card below are not chained.
  const answers = await Promise.all(others.map((key) => send(CARD, key)));
  expect(new Set(answers.map(({ status, headers }) => `${status} ${headers['money-moved']}`))).toEqual(
    new Set(['503 no']),
  );
  const row = { ...CARD, amount: '1', idempotency_key: first };
  const batch = await send({ transfers: [row] }, randomUUID(), '/api/v0.1/core/transfer/batch');
  const { data } = JSON.parse(batch.text) as TransferBatchOutcomes;
  expect(data).toMatchObject([{ status: 503, money_moved: 'no', error: { Code: 'service_unavailable' } }]);
  expect((await send({}, randomUUID(), '/api/v0.1/core/card')).status).toBe(503);
  await untilReadinessIs(service.url, 'standby_not_set');
  expect(await written(keys)).toEqual([fences, 0]);

  await pair.setNames(STANDBY);
  await untilReadinessIs(service.url, 'ready');
  expect((await send(CARD, first)).status).toBe(201);
  expect((await written(keys))[1]).toBe(1);
});

test('a replay does not confirm an earlier transfer while no standby is set', async () => {
  const key = randomUUID();
  const made = await send(CARD, key);
  await pair.setNames('');
  const answer = await send(CARD, key);
  expect([answer.status, answer.headers['money-moved']]).toEqual([500, 'unknown']);
  await pair.setNames(STANDBY);
  expect(await send(CARD, key)).toMatchObject({ status: 201, text: made.text });
});

test('a transfer is acknowledged only when a standby has it, even if PostgreSQL confirms the COMMIT earlier', async () => {
  const key = randomUUID();
  await pair.takeAway();
  let isAnswered = false;
  const waiting = ledger.call('create_transfer', CARD, { idempotencyKey: key }).finally(() => {
    isAnswered = true;
  });
  await waitFor('COMMIT to wait for the standby', async () => (await pair.commitsWaiting()) > 0);
  await pair.setNames('');
  await waitFor('the commit', async () => (await written([key]))[1] === 1);
  const brief = ledger.call('create_transfer', CARD, { idempotencyKey: key, deadline: performance.now() + BRIEF });
  await expect(brief).rejects.toMatchObject({ moneyMoved: 'unknown' });
  expect(isAnswered).toBe(false);
  await pair.setNames(STANDBY);
  await pair.bringBack();
  const { status, body } = await waiting;
  expect(status).toBe(201);
  expect(await ledger.call('create_transfer', CARD, { idempotencyKey: key })).toMatchObject({ body, replayed: true });
});

test('the outcome of a transfer is unknown while the standby is unavailable, as it is without a required standby', async () => {
  await pair.takeAway();
  const key = randomUUID();
  const answer = await send(CARD, key);
  expect([answer.status, answer.headers['money-moved']]).toEqual([500, 'unknown']);
  await untilReadinessIs(service.url, 'write_failing');
  await pair.bringBack();
  await untilReadinessIs(service.url, 'ready');
  expect((await send(CARD, key)).status).toBe(201);
});

test('`status` and `doctor` both say whether transfers survive the loss of the primary, and why', async () => {
  const database = async () => (await service.client.status.get()).database;
  const examined = async (): Promise<unknown> => {
    const { output } = await runCommand(['doctor', '--host', '--json', '--url', service.url], settings);
    const { sections } = JSON.parse(output) as { sections: { checks: { name: string }[] }[] };
    return sections.flatMap(({ checks }) => checks).find(({ name }) => name === 'standby');
  };
  expect(await database()).toMatchObject({
    waits_for_standby: true,
    standbys: null,
    standby_list: null,
    survives_primary_loss: { answer: 'unknown', reason: expect.stringContaining('GRANT pg_monitor') },
  });
  const { user } = pair.primary.connection;
  await pair.ask(`grant pg_monitor to ${user}`, []);
  expect(await database()).toMatchObject({
    standbys: 1,
    standby_list: [{ name: STANDBY, state: 'streaming', sync_state: 'sync', lag_bytes: expect.any(Number) }],
    survives_primary_loss: { answer: 'yes' },
  });
  expect(await examined()).toMatchObject({ outcome: 'ok' });
  const { output } = await runCommand(['status'], { TRANSFER_SERVICE_URL: service.url });
  expect(output).toMatch(/^standby: +standby, streaming, sync, \d+ bytes/m);
  expect(output).toMatch(/^primary lost: +acknowledged transfers survive\. A commit is acknowledged once /m);

  await pair.setNames('');
  expect((await database()).survives_primary_loss).toEqual({
    answer: 'no',
    reason: 'No synchronous standby is set: synchronous_standby_names is empty.',
  });
  expect(await examined()).toMatchObject({
    outcome: 'problem',
    message: expect.stringMatching(/^DATABASE_STANDBY is required, so nothing can be written\. No synchronous/),
    runbook: 'docs/runbook/standby-missing.md',
  });

  await pair.setNames('FIRST 2 (standby, another)');
  const { degraded } = await service.client.status.get();
  expect(degraded.find(({ name }) => name === 'standby_missing')?.message).toMatch(/^Only 1 of 2 .* commits wait\./);
  expect(await examined()).toMatchObject({ outcome: 'problem', message: expect.stringMatching(/^Only 1 of 2/) });
});

test('while no standby is set, a new process is not ready, and a command that writes explains how to proceed', async () => {
  await pair.setNames('');
  const other = await startService({ ...settings, DATA_DIR: `${directory.path}/other` });
  try {
    await untilReadinessIs(other.url, 'standby_not_set');
  } finally {
    await other.stop();
  }
  const { exitCode, errors } = await runCommand(['operator-key', 'create', '--name', 'refused'], settings);
  expect(exitCode).toBe(1);
  expect(errors).toMatch(/^DATABASE_STANDBY is required, .*\nRunbook: docs\/runbook\/standby-missing\.md\n$/);
});
