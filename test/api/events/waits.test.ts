import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTwoServices, type TwoServices } from '../../../verification/environments/processes/services.ts';
import { programKey, withSecret } from '../../harness/keys.ts';
import type { ServiceProcess } from '../../harness/process.ts';
import { startForTest } from '../../harness/service.ts';
import { EVENTS, get, OPERATOR_EVENTS, page, untilRelayed, type WirePage } from './event-reader.ts';

// A wait that nothing wakes ends with an empty page, without reading again. So if its page has an event, something woke
// the wait.

const WAIT = 25;

let services: TwoServices;
let first: ServiceProcess;
let second: ServiceProcess;
let database: pg.Client;
beforeAll(async () => {
  services = await startTwoServices();
  [first, second] = services.both;
  database = new pg.Client(services.databaseUrl);
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await services?.end();
});

/** Waits until every event has a position, and returns the last one. After that, only requests cause events. */
async function settledPosition(): Promise<number> {
  await untilRelayed(database);
  return (await page(first.url, { limit: 1 })).position ?? 0;
}

/** A wait that returns an event within this time cannot have timed out. */
const SOON_MILLISECONDS = (WAIT * 1000) / 2;

/**
 * Runs an attempt that begins a wait and then ends it, and returns both results. Repeats the attempt if a slow machine took so
 * long that the wait may have timed out. `prepare` creates the records that each attempt needs.
 */
async function whileWaiting<Attempt extends { readonly response: Promise<unknown> }, Needed = undefined>(
  attempt: (needed: Needed) => Promise<Attempt>,
  prepare: () => Promise<Needed> = async () => undefined as Needed,
): Promise<Attempt & { readonly got: Awaited<Attempt['response']> }> {
  for (;;) {
    const needed = await prepare();
    const begun = performance.now();
    const made = await attempt(needed);
    const isSoon = performance.now() - begun < SOON_MILLISECONDS;
    const got = (await made.response) as Awaited<Attempt['response']>;
    if (isSoon) return { ...made, got };
  }
}

/**
 * Sends a request that waits. Resolves once the service must be holding the request, because later reads of the same
 * kind have returned.
 */
async function beginWait(url: string, query: object, path = EVENTS): Promise<{ readonly response: Promise<WirePage> }> {
  const response = page(url, { wait: WAIT, ...query }, {}, path);
  response.catch(() => undefined);
  for (let times = 0; times < 3; times += 1) await page(url, query, {}, path);
  return { response };
}

test.each([
  ['the process that committed it', () => first],
  ['another process', () => second],
])('sends an event to the waits in %s', async (_, reader) => {
  const { position, id, got } = await whileWaiting(async () => {
    const position = await settledPosition();
    const { response } = await beginWait(reader().url, { after: position });
    const { transfer_id: id } = await first.client.transfers.create({ amount: 5, card_id: 'card_active' });
    return { position, id, response };
  });
  expect(got.data).toMatchObject([{ subject_id: id, type: 'transfer.completed', position: position + 1 }]);
  expect(got.position).toBe(position + 1);
});

test('lets operators wait for the events of all programs', async () => {
  const { id, got } = await whileWaiting(async () => {
    await settledPosition();
    const { number } = await page(first.url, { limit: 1 }, {}, OPERATOR_EVENTS);
    const { response } = await beginWait(second.url, { after: number }, OPERATOR_EVENTS);
    const { program_id: id } = await first.client.programs.create({ name: 'New', currency: 'USD' });
    return { id, response };
  });
  expect(got.data).toMatchObject([{ type: 'program.created', program_id: id }]);
});

test('continues a wait after events that its filter leaves out, and does not read them again', async () => {
  const { position, id, got } = await whileWaiting(async () => {
    const position = await settledPosition();
    const { response } = await beginWait(first.url, { after: position, type: 'card.created' });
    const { client } = first;
    for (let count = 0; count < 5; count += 1) await client.transfers.create({ amount: 5, card_id: 'card_active' });
    const { card_id: id } = await client.cards.create();
    return { position, id, response };
  });
  expect(got.data).toMatchObject([{ subject_id: id, position: position + 6 }]);
  expect(got.position).toBe(position + 6);
});

test('ends a wait with an empty page when its time is up', async () => {
  const position = await settledPosition();
  const begun = performance.now();
  const { text, status } = await get(first.url, EVENTS, { after: position, wait: 1 });
  expect([status, text]).toEqual([200, `{"data":[],"next_cursor":null,"position":${position}}`]);
  // The service's clock and ours can differ by a few milliseconds.
  expect(performance.now() - begun).toBeGreaterThan(900);
});

test('responds immediately if there is something to read', async () => {
  const position = await settledPosition();
  const { data } = await page(first.url, { after: position - 1, wait: WAIT });
  expect(data).toHaveLength(1);
});

test('holds no database connection for 160 waits', async () => {
  const { client, url } = first;
  const { program_id: program } = await client.programs.create({ name: 'Waiting', currency: 'USD' });
  const { key } = await withSecret(client.keys.create(programKey('Waiting', program)));
  const headers = { Authorization: `Bearer ${key}` };
  const { got: pages } = await whileWaiting(async () => {
    const position = await settledPosition();
    const { position: own } = await page(url, { limit: 1 }, headers);
    const waits: Promise<WirePage>[] = [];
    // There are more waits than database connections in the process. They begin a few at a time, because a slow machine
    // refuses requests that have waited too long for a connection.
    for (let count = 0; count < 20; count += 1) {
      const few = Array.from({ length: 4 }, () => [
        page(url, { after: own, wait: WAIT }, headers),
        page(url, { after: position, wait: WAIT }),
      ]).flat();
      for (const wait of few) wait.catch(() => undefined);
      waits.push(...few);
      await page(url, { after: own }, headers);
      await page(url, { after: position });
    }
    const response = Promise.all(waits);
    response.catch(() => undefined);
    for (let count = 0; count < 20; count += 1) {
      expect((await get(url, '/api/v0.1/core/card')).status).toBe(200);
    }
    await client.cards.create({}, { programId: program });
    await client.cards.create();
    return { response };
  });
  expect(pages).toHaveLength(160);
  for (const { data } of pages) expect(data).toMatchObject([{ type: 'card.created' }]);
});

test('ends the waits immediately with an empty page when the service stops', async () => {
  // If the stop did not end the wait, the wait would end with an error long before its timeout.
  const { position, stopped, got } = await whileWaiting(
    async (third) => {
      const position = await settledPosition();
      const { response } = await beginWait(third.url, { after: position });
      return { position, response, stopped: third.stop() };
    },
    () => startForTest(services.settings()),
  );
  expect(await stopped).toBe(0);
  expect(got).toEqual({ data: [], next_cursor: null, position });
});
