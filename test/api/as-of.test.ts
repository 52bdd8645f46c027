import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TrialBalance } from '../../sdk/client.ts';
import { runHere } from '../cli/in-process.ts';
import { patiently } from '../harness/client/patience.ts';
import { refusalOf, useOwnService } from '../harness/service.ts';

const running = useOwnService('It moves the clock, and compares sums over the whole ledger.');
const client = () => running().client;

const STEPS = 40;

/** All balances, read at a moment when nothing else was moving money. */
type Reading = {
  readonly cards: readonly number[];
  readonly funding: number;
  readonly kinds: Readonly<Record<string, number | string>>;
};

let programId: string;
const cards: string[] = [];
/** The readings by instant, in order. If several steps happen in one millisecond, only the last reading is kept. */
const history = new Map<string, Reading>();
let before: string;

const here = () => ({ programId });
const kindsOf = ({ currencies }: TrialBalance) =>
  Object.fromEntries(currencies.flatMap(({ by_kind }) => by_kind.map(({ kind, balance }) => [kind, balance])));
const any = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item;
const earlier = (instant: string, milliseconds = 1) => new Date(Date.parse(instant) - milliseconds).toISOString();

async function read(): Promise<Reading> {
  const balances = [];
  for (const card of cards) balances.push((await client().cards.get(card, here())).balance);
  const { funding } = await client().programs.get(programId);
  return { cards: balances, funding: funding[0]?.balance ?? 0, kinds: kindsOf(await client().trialBalance.get()) };
}

async function readAt(as_of: string): Promise<Reading> {
  const balances = [];
  for (const card of cards) balances.push((await client().cards.get(card, here(), { as_of })).balance_as_of ?? -1);
  const { funding } = await client().programs.get(programId, {}, { as_of });
  const trial = await client().trialBalance.get({}, { as_of });
  expect(trial).toMatchObject({ balanced: true, as_of });
  return { cards: balances, funding: funding[0]?.balance_as_of ?? -1, kinds: kindsOf(trial) };
}

const transfers: string[] = [];

/** Makes a random movement and returns its instant, or undefined if the service refused the movement. */
async function move(): Promise<string | undefined> {
  const amount = 1 + Math.floor(Math.random() * 500);
  const create = async (terms: object) => {
    const made = await client().transfers.create({ amount, card_id: any(cards), ...terms }, here());
    transfers.push(made.transfer_id);
    return made;
  };
  const movements = [
    () => client().deposits.create(programId, { amount: amount * 5 }),
    () => client().withdrawals.create(programId, { amount }),
    () => create({}),
    () => create({ type: 'unload' }),
    () => create({ type: 'card_to_card', card_id: cards[0], destination_card_id: cards[1] }),
    () => client().transfers.reverse(any(transfers), {}, here()),
  ];
  return (await any(movements)().catch(() => undefined))?.created_at;
}

beforeAll(async () => {
  programId = (await client().programs.create({ name: 'As of', currency: 'CHF' })).program_id;
  for (let card = 0; card < 3; card += 1) cards.push((await client().cards.create({}, here())).card_id);
  const first = await client().deposits.create(programId, { amount: 10_000 });
  before = earlier(first.created_at);
  history.set(first.created_at, await read());
  for (let step = 0; step < STEPS; step += 1) {
    const instant = await patiently(move);
    if (instant !== undefined) history.set(instant, await read());
  }
  // After a minute, no transaction that read an earlier clock can still be open.
  await client().sandbox.moveClock({ seconds_ahead: 120 });
});
afterAll(() => client().sandbox.moveClock({ seconds_ahead: 0 }));

describe('a balance as of an instant', () => {
  test('equals the balance read at that instant, and the previous balance one millisecond earlier', async () => {
    expect(history.size).toBeGreaterThan(STEPS / 3);
    let last: Reading | undefined;
    for (const [instant, reading] of history) {
      expect(await readAt(instant)).toEqual(reading);
      if (last !== undefined) expect(await readAt(earlier(instant))).toEqual(last);
      last = reading;
    }
  });

  test('does not change while new transfers arrive', async () => {
    const [instant = '', reading] = any([...history]);
    let isDone = false;
    const made = Array.from({ length: 100 }, () =>
      patiently(() => client().transfers.create({ amount: 1, card_id: any(cards) }, here())),
    );
    const all = Promise.allSettled(made).then(() => {
      isDone = true;
    });
    while (!isDone) expect(await readAt(instant)).toEqual(reading);
    await all;
  });

  test('is 0 for times before the card and the funding account existed or had money', async () => {
    for (const as_of of [before, '2020-01-01T00:00:00Z']) {
      expect((await client().cards.get(cards[0] ?? '', here(), { as_of })).balance_as_of).toBe(0);
      expect((await client().programs.get(programId, {}, { as_of })).funding).toMatchObject([{ balance_as_of: 0 }]);
    }
    const trial = await client().trialBalance.get({}, { as_of: '2020-01-01T00:00:00Z' });
    expect(trial).toMatchObject({ balanced: true, currencies: [], as_of: '2020-01-01T00:00:00.000Z' });
  });

  test('includes the whole millisecond of the instant, in any time zone', async () => {
    const [instant = '', reading] = [...history].at(-1) ?? [];
    const local = new Date(Date.parse(instant) + 3_600_000).toISOString().replace('Z', '999+01:00');
    expect((await readAt(instant)).cards).toEqual(reading?.cards);
    const at = (as_of: string) => client().cards.get(cards[0] ?? '', here(), { as_of });
    expect((await at(local)).balance_as_of).toBe(reading?.cards[0]);
  });

  test('is missing from a record that is read without an instant', async () => {
    const card = await client().cards.get(cards[0] ?? '', here());
    const { funding } = await client().programs.get(programId);
    const trial = await client().trialBalance.get();
    expect([card, ...funding].some((one) => 'balance_as_of' in one)).toBe(false);
    expect(trial).toMatchObject({ as_of: null, postings_compared: true });
  });

  test('leaves the version of the record unchanged', async () => {
    const query = { as_of: before };
    const versions = [
      [await client().cards.get(cards[0] ?? '', here()), await client().cards.get(cards[0] ?? '', here(), query)],
      [await client().programs.get(programId), await client().programs.get(programId, {}, query)],
    ].map((records) => records.map(({ response }) => response.version));
    for (const [current, past] of versions) {
      expect(current).toMatch(/^"/);
      expect(past).toBe(current);
    }
  });

  test('is refused for an instant that is not final', async () => {
    const { now } = await client().sandbox.moveClock({ seconds_ahead: 120 });
    for (const as_of of [now, earlier(now, 50_000), '2100-01-01T00:00:00Z']) {
      const refusals = [
        await refusalOf(client().cards.get('card_missing', here(), { as_of })),
        await refusalOf(client().programs.get('prog_missing', {}, { as_of })),
        await refusalOf(client().trialBalance.get({}, { as_of })),
      ];
      expect(refusals.map(({ code }) => code)).toEqual([
        'get_card_schema',
        'get_program_schema',
        'get_trial_balance_schema',
      ]);
      for (const { field, message } of refusals) {
        expect(field).toBe('/as_of');
        expect(message).toContain('less than 60 seconds ago or in the future');
      }
    }
    const missing = { as_of: before };
    expect((await refusalOf(client().cards.get('card_missing', here(), missing))).code).toBe('card_not_found');
    expect((await refusalOf(client().programs.get('prog_missing', {}, missing))).code).toBe('program_not_found');
  });

  test('is shown by the commands', async () => {
    const [instant = '', reading] = any([...history]);
    const show = async (...line: readonly string[]) =>
      (await runHere(running().url, [...line, '--as-of', instant], { program: programId })).output;
    const amount = (minor: number | string) =>
      new Intl.NumberFormat('en', { minimumFractionDigits: 2 }).format(Number(minor) / 100);
    expect(await show('cards', 'get', cards[0] ?? '')).toContain(
      `balance_as_of: ${amount(reading?.cards[0] ?? -1)} CHF`,
    );
    expect(await show('programs', 'get', programId)).toContain(
      `funding.CHF.balance_as_of: ${amount(reading?.funding ?? -1)} CHF`,
    );
    const trial = await show('trial-balance');
    expect(trial).toMatch(/as_of: +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    expect(trial).toContain(`${amount(reading?.funding ?? -1)} CHF`);
  });
});
