import { appendFileSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { embeddedServerOf, type ServiceProcess, startService, waitFor } from '../harness/process.ts';
import { errorOf, linesOf, lookUp, spoolOf, tell, worst } from './log-reader.ts';

let directory: Awaited<ReturnType<typeof ledgerDirectory>>;
const services: ServiceProcess[] = [];

async function start(environment: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  const service = await startService({ DATA_DIR: directory.path, ...environment });
  services.push(service);
  return service;
}

beforeEach(async () => {
  directory = await ledgerDirectory();
});
afterEach(async () => {
  for (const service of services.splice(0).reverse()) if (service.child.exitCode === null) await service.stop();
  await directory.remove();
});

/** Errors of every type that a service without its database answers with. */
async function failOften({ client, url }: ServiceProcess, times: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let count = 0; count < times; count += 1) {
    const failed = await errorOf(client.transfers.create({ amount: 1, card_id: 'card_active' }));
    expect(failed.Code).toBe('unknown_create_transfer');
    const refused = await errorOf(client.transfers.create({ amount: 8.5, card_id: 'card_active' }));
    const answer = await fetch(`${url}/nowhere`);
    ids.push(failed.requestId, refused.requestId, answer.headers.get('request-id') ?? '');
  }
  return ids;
}

test('errors while the database is stopped are found after its return, with their causes', async () => {
  const service = await start();
  const { client } = service;
  await client.sandbox.stopDatabase();
  const ids = await failOften(service, 10);
  await client.sandbox.startDatabase();
  const found = await Promise.all(ids.map((id) => lookUp(client, id)));
  tell('errors of an outage, the slowest found after the return', worst(found.map(({ after }) => after)), 'ms');
  const failure = found[0]?.error;
  expect(failure?.causes.length).toBeGreaterThanOrEqual(2);
  expect(failure?.causes.at(-1)?.message).toMatch(/connect|terminat|shutting down|closed/i);
  expect(failure?.causes[0]?.stack.length).toBeGreaterThan(0);
  await waitFor('the spool to be empty', async () => linesOf(spoolOf(directory.path)).length === 0);
});

test('errors of a killed service are loaded by the next one, also when the spool was torn', async () => {
  const killed = await start();
  await killed.client.sandbox.stopDatabase();
  const ids = await failOften(killed, 5);
  const spool = spoolOf(directory.path);
  await waitFor('the spool to be written', async () =>
    ids.every((id) => readFileSync(spool, 'utf8').includes(uuid(id))),
  );
  await killed.kill();
  appendFileSync(spool, linesOf(spool)[0]?.slice(0, 200) ?? '');

  const { client } = await start();
  const found = await Promise.all(ids.map((id) => lookUp(client, id)));
  tell('errors of a killed service, the slowest found after the start', worst(found.map(({ after }) => after)), 'ms');
  await waitFor('the torn line to be counted', async () => (await client.errors.search()).dropped === 1);
  expect(linesOf(spool)).toEqual([]);
});

test('what waits when the service is stopped is kept, in the database or in the spool', async () => {
  const first = await start();
  const answer = await fetch(`${first.url}/nowhere`);
  await first.client.sandbox.stopDatabase();
  const ids = [answer.headers.get('request-id') ?? '', ...(await failOften(first, 1))];
  expect(await first.stop()).toBe(0);
  const second = await start();
  for (const id of ids) await lookUp(second.client, id);
});

test('two processes on one database and one directory keep out of each other’s spools', async () => {
  const first = await start();
  const { databaseUrl } = await embeddedServerOf(directory.path);
  const second = await start({ DATABASE_URL: databaseUrl });
  await first.client.sandbox.stopDatabase();
  const ids = [...(await failOften(first, 2)), ...(await failOften(second, 2))];
  await waitFor('both spools to be written', async () => {
    return linesOf(spoolOf(directory.path)).length >= 6 && linesOf(spoolOf(directory.path, 2)).length >= 6;
  });
  await second.kill();
  await first.client.sandbox.startDatabase();
  for (const id of ids.slice(0, 6)) await lookUp(first.client, id);
  const third = await start({ DATABASE_URL: databaseUrl });
  const found = await Promise.all(ids.slice(6).map((id) => lookUp(first.client, id)));
  tell(
    'errors of a killed second process, the slowest found after the start',
    worst(found.map(({ after }) => after)),
    'ms',
  );
  expect((await third.client.errors.search()).dropped).toBe(0);
});

function uuid(requestId: string): string {
  const hex = requestId.slice(4);
  return [0, 8, 12, 16, 20].map((from, index) => hex.slice(from, [8, 12, 16, 20, 32][index])).join('-');
}
