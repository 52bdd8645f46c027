import { appendFileSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { embeddedServerOf, type ServiceProcess, waitFor } from '../harness/process.ts';
import { directoryForTest, refusalOf, startForTest } from '../harness/service.ts';
import { linesOf, lookUp, printFigure, spoolOf, worst } from './log-reader.ts';

/** Causes errors of every type that a service without its database returns. */
async function failOften({ client, url }: ServiceProcess, times: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let count = 0; count < times; count += 1) {
    const failed = await refusalOf(client.transfers.create({ amount: 1, card_id: 'card_active' }));
    expect(failed.Code).toBe('unknown_create_transfer');
    const refused = await refusalOf(client.transfers.create({ amount: 8.5, card_id: 'card_active' }));
    const response = await fetch(`${url}/api/nowhere`);
    ids.push(failed.requestId, refused.requestId, response.headers.get('request-id') ?? '');
  }
  return ids;
}

test('the errors of a database outage are found, with their causes, once the database is back', async () => {
  const DATA_DIR = await directoryForTest();
  const service = await startForTest({ DATA_DIR });
  const { client } = service;
  await client.sandbox.stopDatabase();
  const ids = await failOften(service, 10);
  await client.sandbox.startDatabase();
  const found = await Promise.all(ids.map((id) => lookUp(client, id)));
  printFigure(
    'errors of an outage, the slowest found after the return',
    worst(found.map(({ afterMilliseconds }) => afterMilliseconds)),
    'ms',
  );
  const failure = found[0]?.error;
  expect(failure?.causes.length).toBeGreaterThanOrEqual(2);
  expect(failure?.causes.at(-1)?.message).toMatch(/connect|terminat|shutting down|closed/i);
  expect(failure?.causes[0]?.stack.length).toBeGreaterThan(0);
  await waitFor('the spool to be empty', async () => linesOf(spoolOf(DATA_DIR)).length === 0);
});

test('the errors of a killed service are loaded, even if the last line of the spool is incomplete', async () => {
  const DATA_DIR = await directoryForTest();
  const killed = await startForTest({ DATA_DIR });
  await killed.client.sandbox.stopDatabase();
  const ids = await failOften(killed, 5);
  const spool = spoolOf(DATA_DIR);
  await waitFor('the spool to be written', async () =>
    ids.every((id) => readFileSync(spool, 'utf8').includes(uuid(id))),
  );
  await killed.kill();
  appendFileSync(spool, linesOf(spool)[0]?.slice(0, 200) ?? '');

  const { client } = await startForTest({ DATA_DIR });
  const found = await Promise.all(ids.map((id) => lookUp(client, id)));
  printFigure(
    'errors of a killed service, the slowest found after the start',
    worst(found.map(({ afterMilliseconds }) => afterMilliseconds)),
    'ms',
  );
  await waitFor('the torn line to be counted', async () => (await client.errors.search()).dropped === 1);
  expect(linesOf(spool)).toEqual([]);
});

test('queued errors are stored when the service stops, either in the database or in the spool', async () => {
  const DATA_DIR = await directoryForTest();
  const first = await startForTest({ DATA_DIR });
  const response = await fetch(`${first.url}/api/nowhere`);
  await first.client.sandbox.stopDatabase();
  const ids = [response.headers.get('request-id') ?? '', ...(await failOften(first, 1))];
  expect(await first.stop()).toBe(0);
  const second = await startForTest({ DATA_DIR });
  for (const id of ids) await lookUp(second.client, id);
});

test('two processes with one database and one directory use separate spools', async () => {
  const DATA_DIR = await directoryForTest();
  const first = await startForTest({ DATA_DIR });
  const { databaseUrl } = await embeddedServerOf(DATA_DIR);
  const second = await startForTest({ DATA_DIR, DATABASE_URL: databaseUrl });
  await first.client.sandbox.stopDatabase();
  const ids = [...(await failOften(first, 2)), ...(await failOften(second, 2))];
  await waitFor('both spools to be written', async () => {
    return linesOf(spoolOf(DATA_DIR)).length >= 6 && linesOf(spoolOf(DATA_DIR, 2)).length >= 6;
  });
  await second.kill();
  await first.client.sandbox.startDatabase();
  for (const id of ids.slice(0, 6)) await lookUp(first.client, id);
  const third = await startForTest({ DATA_DIR, DATABASE_URL: databaseUrl });
  const found = await Promise.all(ids.slice(6).map((id) => lookUp(first.client, id)));
  printFigure(
    'errors of a killed second process, the slowest found after the start',
    worst(found.map(({ afterMilliseconds }) => afterMilliseconds)),
    'ms',
  );
  expect((await third.client.errors.search()).dropped).toBe(0);
});

function uuid(requestId: string): string {
  const hex = requestId.slice(4);
  return [0, 8, 12, 16, 20].map((from, index) => hex.slice(from, [8, 12, 16, 20, 32][index])).join('-');
}
