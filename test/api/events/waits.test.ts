import { afterAll, beforeAll, expect, test } from 'vitest';
import { programKey, withSecret } from '../../harness/keys.ts';
import type { ServiceProcess } from '../../harness/process.ts';
import { startForTest } from '../../harness/service.ts';
import { startTwoServices, type TwoServices } from '../../torture/two-services.ts';
import { EVENTS, get, OPERATOR_EVENTS, page, type WirePage } from './event-reader.ts';

// A wait that nothing wakes ends with an empty page, without reading again: an event in its page proves that it was woken.

const WAIT = 25;

let services: TwoServices;
let first: ServiceProcess;
let second: ServiceProcess;
beforeAll(async () => {
  services = await startTwoServices();
  [first, second] = services.both;
});
afterAll(() => services?.end());

/** The last position, once the relay has numbered everything: nothing comes while nothing is done. */
async function settledPosition(query: object = {}): Promise<number> {
  let last = -1;
  await expect
    .poll(
      async () => {
        const before = last;
        last = (await page(first.url, { limit: 1, ...query })).position ?? 0;
        return last === before;
      },
      { interval: 500 },
    )
    .toBe(true);
  return last;
}

/** A request that waits, and that is known to wait when this resolves: a read of the same kind has come back empty. */
async function beginWait(url: string, query: object, path = EVENTS): Promise<{ readonly response: Promise<WirePage> }> {
  const response = page(url, { wait: WAIT, ...query }, {}, path);
  response.catch(() => undefined);
  for (let times = 0; times < 3; times += 1) await page(url, query, {}, path);
  return { response };
}

test.each([
  ['the process that committed it', () => first],
  ['another process', () => second],
])('an event ends the waits in %s', async (_, reader) => {
  const position = await settledPosition();
  const { response } = await beginWait(reader().url, { after: position });
  const { transfer_id: id } = await first.client.transfers.create({ amount: 5, card_id: 'card_active' });
  const { data, position: end } = await response;
  expect(data).toMatchObject([{ subject_id: id, type: 'transfer.completed', position: position + 1 }]);
  expect(end).toBe(position + 1);
});

test('operators wait for the events of all programs', async () => {
  await settledPosition();
  const { number } = await page(first.url, { limit: 1 }, {}, OPERATOR_EVENTS);
  const { response } = await beginWait(second.url, { after: number }, OPERATOR_EVENTS);
  const { program_id: id } = await first.client.programs.create({ name: 'New', currency: 'USD' });
  const { data } = await response;
  expect(data).toMatchObject([{ type: 'program.created', program_id: id }]);
});

test('what a filter leaves out does not end a wait, and is not read again', async () => {
  const position = await settledPosition();
  const { response } = await beginWait(first.url, { after: position, type: 'card.created' });
  for (let count = 0; count < 5; count += 1) await first.client.transfers.create({ amount: 5, card_id: 'card_active' });
  const { card_id: id } = await first.client.cards.create();
  const { data, position: end } = await response;
  expect(data).toMatchObject([{ subject_id: id, position: position + 6 }]);
  expect(end).toBe(position + 6);
});

test('a wait in vain ends with an empty page when its time is over', async () => {
  const position = await settledPosition();
  const begun = performance.now();
  const { text, status } = await get(first.url, EVENTS, { after: position, wait: 1 });
  expect([status, text]).toEqual([200, `{"data":[],"next_cursor":null,"position":${position}}`]);
  // The service's clock and ours agree to a few milliseconds.
  expect(performance.now() - begun).toBeGreaterThan(900);
});

test('a wait with something to read does not wait', async () => {
  const position = await settledPosition();
  const { data } = await page(first.url, { after: position - 1, wait: WAIT });
  expect(data).toHaveLength(1);
});

test('hundreds of waits hold no database connection', async () => {
  const position = await settledPosition();
  const { program_id: program } = await first.client.programs.create({ name: 'Waiting', currency: 'USD' });
  const { key } = await withSecret(first.client.keys.create(programKey('Waiting', program)));
  const headers = { Authorization: `Bearer ${key}` };
  let own = 0;
  await expect
    .poll(async () => {
      own = (await page(first.url, { limit: 1 }, headers)).position ?? 0;
      return own;
    })
    .toBe(2);
  // More than the connections of the process.
  const mine = Array.from({ length: 80 }, () => page(first.url, { after: own, wait: WAIT }, headers));
  const others = Array.from({ length: 80 }, () => page(first.url, { after: position, wait: WAIT }));
  for (const one of [...mine, ...others]) one.catch(() => undefined);
  for (let count = 0; count < 20; count += 1) {
    expect((await get(first.url, '/api/v0.1/core/card')).status).toBe(200);
  }
  await first.client.cards.create({ card_id: 'awaited' }, { programId: program });
  await first.client.cards.create({ card_id: 'awaited' });
  for (const { data } of await Promise.all(mine)) expect(data).toMatchObject([{ type: 'card.created' }]);
  for (const { data } of await Promise.all(others)) expect(data.length).toBeGreaterThan(0);
});

test('a service that stops ends its waits at once, with an empty page', async () => {
  const third = await startForTest({ DATABASE_URL: services.databaseUrl, LOG_LEVEL: 'silent' });
  const position = await settledPosition();
  const { response } = await beginWait(third.url, { after: position });
  const begun = performance.now();
  expect(await third.stop()).toBe(0);
  expect(await response).toEqual({ data: [], next_cursor: null, position });
  // Far less than the wait, and more than any machine takes to stop.
  expect(performance.now() - begun).toBeLessThan(WAIT * 1000);
});
