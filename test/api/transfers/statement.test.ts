import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import type { PostingRecord, StatementPage } from '../../../sdk/client.ts';
import { expectBalancedBooks, refusalOf, useOwnService } from '../../harness/service.ts';
import { newCard } from '../arrange.ts';

const running = useOwnService('It reads the postings of the seed.');
const client = () => running().client;
afterAll(() => expectBalancedBooks(running()));

/** Fails unless the page adds up: each balance must equal the balance one line below plus the line's amount. */
function expectToAddUp(page: Pick<StatementPage, 'data' | 'opening_balance' | 'closing_balance'>): void {
  const lines = [...page.data].reverse();
  const [first] = lines;
  let balance = first === undefined ? page.opening_balance : first.balance - signed(first);
  if (first?.sequence === 1) expect(balance).toBe(0);
  for (const line of lines) {
    balance += signed(line);
    expect(line.balance).toBe(balance);
  }
}

function signed({ direction, amount }: PostingRecord): number {
  return direction === 'in' ? amount : -amount;
}

describe('list_postings', () => {
  test('shows every kind of posting with its transfer, newest first', async () => {
    const [card_id, other] = [await newCard(client()), await newCard(client())];
    const { transfers, cards } = client();
    const load = await transfers.create({ amount: 1000, card_id });
    const texts = { description: 'Coffee', reference: card_id };
    const unload = await transfers.create({ amount: 200, card_id, type: 'unload', ...texts });
    const move = await transfers.create({ amount: 300, card_id, destination_card_id: other, type: 'card_to_card' });
    const reversal = await transfers.reverse(move.transfer_id, { amount: 100, description: 'Sent by mistake' });
    const hold = await transfers.create({ amount: 50, card_id, type: 'unload', capture: 'manual' });
    await transfers.capture(hold.transfer_id, { amount: 40 });
    const { data, ...rest } = await cards.postings(card_id);
    expect(rest).toEqual({ next_cursor: null, card_id, currency: 'USD', opening_balance: 0, closing_balance: 560 });
    const line = (
      sequence: number,
      purpose: string,
      direction: string,
      amount: number,
      balance: number,
      id: string,
      shown: { readonly description?: string; readonly reference?: string } = {},
    ) => ({
      sequence,
      purpose,
      direction,
      amount,
      balance,
      currency: 'USD',
      transfer_id: id,
      reversal_id: purpose === 'reversal' ? reversal.reversal_id : null,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      description: null,
      reference: null,
      ...shown,
    });
    expect(data).toEqual([
      line(5, 'unload', 'out', 40, 560, hold.transfer_id),
      line(4, 'reversal', 'in', 100, 600, move.transfer_id, { description: 'Sent by mistake' }),
      line(3, 'card_to_card', 'out', 300, 500, move.transfer_id),
      line(2, 'unload', 'out', 200, 800, unload.transfer_id, texts),
      line(1, 'load', 'in', 1000, 1000, load.transfer_id),
    ]);
    expect((await cards.get(card_id)).balance).toBe(560);
    const [back, there] = (await cards.postings(other)).data;
    expect(back).toMatchObject({ purpose: 'reversal', direction: 'out', amount: 100, balance: 200 });
    expect(there).toMatchObject({ purpose: 'card_to_card', direction: 'in', amount: 300, balance: 300 });
  });

  test('shows seeded money without a transfer id, and no lines for a card without postings', async () => {
    const { data } = await client().cards.postings('card_full');
    expect(data).toMatchObject([{ purpose: 'deposit', direction: 'in', transfer_id: null, reversal_id: null }]);
    expect({ ...(await client().cards.postings('card_empty')) }).toEqual({
      data: [],
      next_cursor: null,
      card_id: 'card_empty',
      currency: 'USD',
      opening_balance: 0,
      closing_balance: 0,
    });
  });

  test('shows the opening balance, the postings and the closing balance of a period', async () => {
    const card_id = await newCard(client());
    const times: string[] = [];
    for (const amount of [100, 20, 3]) {
      times.push((await client().transfers.create({ amount, card_id })).created_at);
      await new Promise((wake) => setTimeout(wake, 5));
    }
    const [first = '', second = '', third = ''] = times;
    const statement = async (created_from?: string, created_to?: string) => {
      const page = await client().cards.postings(card_id, { created_from, created_to });
      return [page.opening_balance, ...page.data.map(({ amount }) => amount).reverse(), page.closing_balance];
    };
    expect(await statement()).toEqual([0, 100, 20, 3, 123]);
    expect(await statement(second)).toEqual([100, 20, 3, 123]);
    expect(await statement(undefined, third)).toEqual([0, 100, 20, 120]);
    expect(await statement(second, third)).toEqual([100, 20, 120]);
    expect(await statement('2000-01-01T00:00:00Z', first)).toEqual([0, 0]);
    expect(await statement('2100-01-01T00:00:00Z')).toEqual([123, 123]);
  });

  test('keeps pages stable while postings arrive: each posting appears once, with the balances of the first page', async () => {
    const card_id = await newCard(client());
    const add = () => client().transfers.create({ amount: 7, card_id });
    for (let count = 0; count < 23; count += 1) await add();
    const lines: PostingRecord[] = [];
    let cursor: string | undefined;
    do {
      const page = await client().cards.postings(card_id, { limit: 5, cursor });
      expect(page).toMatchObject({ opening_balance: 0, closing_balance: 161 });
      expectToAddUp(page);
      lines.push(...page.data);
      cursor = page.next_cursor ?? undefined;
      await add();
    } while (cursor !== undefined);
    expect(lines.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 23 }, (_, index) => 23 - index));
  });

  test('shows postings and balances of the same moment while transfers run', async () => {
    // Each round removes slightly more than it adds. The card has enough for all rounds.
    const card_id = await newCard(client(), 1_000_000);
    let done = false;
    const moving = Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        while (!done) {
          await client().transfers.create({ amount: 1 + index, card_id, type: index % 2 === 0 ? 'load' : 'unload' });
        }
      }),
    );
    try {
      for (let count = 0; count < 100; count += 1) {
        const page = await client().cards.postings(card_id, { limit: 10 });
        expect(page.closing_balance).toBe(page.data[0]?.balance);
        expectToAddUp(page);
      }
    } finally {
      done = true;
      await moving;
    }
    const all = await Array.fromAsync(client().cards.postingsAll(card_id, { limit: 100 }));
    expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_, index) => all.length - index));
    expectToAddUp({ data: all, opening_balance: 0, closing_balance: all[0]?.balance ?? 0 });
  });

  test('refuses a cursor of another card, program or list', async () => {
    const missing = await refusalOf(client().cards.postings('card_missing'));
    expect(missing).toMatchObject({ Code: 'card_not_found', Status: 404 });
    const { program_id } = await client().programs.create({ name: 'Other', currency: 'USD' });
    const foreign = await refusalOf(client().cards.postings('card_active', {}, { programId: program_id }));
    expect(foreign).toMatchObject({ Code: 'card_not_found', Status: 404 });
    for (const cursor of ['pst_1', 'pst_0_1', 'pst_1_-1', `tr_${randomUUID().replaceAll('-', '')}`, 'pst_1_1_1']) {
      const refused = await refusalOf(client().cards.postings('card_active', { cursor }));
      expect(refused).toMatchObject({ Code: 'list_postings_schema', Status: 400, field: '/cursor' });
    }
    const period = { created_from: '2030-01-01T00:00:00Z', created_to: '2030-01-01T00:00:00Z' };
    const refused = await refusalOf(client().cards.postings('card_active', period));
    expect(refused).toMatchObject({ Code: 'list_postings_schema', field: '/created_to' });
    const exported = await refusalOf(client().cards.exportPostings('card_active', period));
    expect(exported).toMatchObject({ Code: 'export_postings_schema', field: '/created_to' });
  });
});
