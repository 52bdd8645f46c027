import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readBooks } from '../../verification/checkers/transfers/books.ts';
import { booksOf, findContradictions } from '../../verification/checkers/transfers/checker.ts';
import { wrongSums } from '../../verification/environments/processes/snapshots.ts';
import { startTwoServices, type TwoServices } from '../../verification/environments/processes/two-services.ts';
import { Load } from '../../verification/generators/load.ts';
import { sendUntilServed } from '../harness/client/patience.ts';
import type { ServiceProcess } from '../harness/process.ts';
import { type RawRequest, sendRaw } from '../harness/raw-request.ts';

let services: TwoServices;
let first: ServiceProcess;
let second: ServiceProcess;
beforeAll(async () => {
  services = await startTwoServices();
  [first, second] = services.both;
});
afterAll(() => services?.end());

/** Retries a request while the service is too busy for it, as the response advises. */
const sendPatiently = (url: string, request: RawRequest) => sendUntilServed(() => sendRaw(url, request));

const AT_ONCE = 50;
const ROUNDS = 20;

test(`${AT_ONCE} concurrent requests with one key to both processes make one transfer and get equal responses`, async () => {
  for (let round = 0; round < 5; round += 1) {
    const { card_id } = await first.client.cards.create();
    const headers = { 'Idempotency-Key': `both-${round}` };
    const responses = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) =>
        sendPatiently((index % 2 === 0 ? first : second).url, { headers, body: { amount: 10, card_id } }),
      ),
    );
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(responses[0]?.status).toBe(201);
    expect(responses.filter(({ headers: answered }) => answered['idempotent-replayed'] === undefined).length).toBe(1);
    expect((await second.client.cards.get(card_id)).balance).toBe(10);
    expect((await second.client.transfers.list({ card_id })).data.length).toBe(1);
  }
});

test('two concurrent unloads spend a balance only once', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const { card_id } = await first.client.cards.create();
    await second.client.transfers.create({ amount: 100, card_id });
    const spend = ({ url }: ServiceProcess) => sendPatiently(url, { body: { amount: 100, card_id, type: 'unload' } });
    const responses = await Promise.all([spend(first), spend(second)]);
    expect(responses.map(({ fields: members }) => members.status ?? members.Code).sort()).toEqual([
      'completed',
      'insufficient_funds',
    ]);
    expect((await first.client.cards.get(card_id)).balance).toBe(0);
  }
});

test('a scope disabled through one process is disabled in the other before the response', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const load = new Load(4, `switch-${round}`);
    for (const card_id of round === 0 ? load.cards : []) await first.client.cards.create({ card_id });
    load.start(second.url);
    const anyMade = () => load.stories.some(({ responses }) => responses.some(({ status }) => status === 201));
    while (!anyMade()) await new Promise((wake) => setTimeout(wake, 5));
    await first.client.switch.change({ disabled: true, reason: 'a test' });
    const countOf = async () => {
      const { transfers } = await readBooks(services.path, load.cards);
      const captured = transfers.filter(({ status }) => status === 'completed').length;
      return [transfers.length, captured, transfers.flatMap(({ reversals }) => reversals).length];
    };
    const whenDisabled = await countOf();
    await load.pause();
    expect(await countOf()).toEqual(whenDisabled);
    await first.client.switch.change({ disabled: false });
  }
});

test('a load on both processes leaves balanced books', async () => {
  const load = new Load(8, 'over-both');
  load.start(first.url, second.url);
  while (load.stories.length < 1000) await new Promise((wake) => setTimeout(wake, 10));
  await load.pause();
  await load.settle(second.url, 200);
  const { faults, ...books } = await readBooks(services.path, load.cards);
  expect(faults).toEqual({});
  expect(load.unansweredByTheLiving).toBe(0);
  // Earlier loads used the same cards, so this load did not begin with empty balances.
  const own = booksOf('over-both', books);
  expect(own.transfers.length).toBeGreaterThan(100);
  expect(findContradictions(load.stories, own, load.changes)).toEqual([]);
});

const ON_CARD = 'where account_id = (select account_id from card where name = $1)';

test.each<[string, readonly string[], string]>([
  ['nothing wrong in correct books', [], ''],
  ['money without a source', [`update account set balance = balance + 1 ${ON_CARD}`], 'do not sum to zero'],
  ['a held amount without a hold', [`update account set held = held + 1 ${ON_CARD}`], ', holds '],
  [
    'an account below its floor',
    ['alter table account drop constraint account_floor', `update account set floor = balance + 1 ${ON_CARD}`],
    'below the floor',
  ],
])('one query for wrong sums finds %s', async (_, lies, word) => {
  const { card_id } = await first.client.cards.create();
  await first.client.transfers.create({ card_id, amount: 100 });
  const client = new pg.Client({ connectionString: services.databaseUrl });
  await client.connect();
  try {
    await client.query('begin');
    for (const lie of lies) await client.query(lie, lie.includes('$1') ? [card_id] : []);
    const [seen] = (await client.query<{ wrong: string }>(wrongSums())).rows;
    expect(seen?.wrong === '').toBe(word === '');
    expect(seen?.wrong).toContain(word);
  } finally {
    await client.query('rollback').catch(() => undefined);
    await client.end();
  }
});
