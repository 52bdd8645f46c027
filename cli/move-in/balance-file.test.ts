import { describe, expect, test } from 'vitest';
import type { DifferenceRecord, MoveInLine } from '../../sdk/client.ts';
import { BalanceFile, type DeltaSources, deltaOf, hashOfDelta } from './balance-file.ts';
import type { SentMoveInLine } from './move-in-file.ts';

async function* linesOf(sent: readonly MoveInLine[]): AsyncGenerator<SentMoveInLine> {
  for (const [index, line] of sent.entries()) yield { line: index + 1, sent: line };
}

const card = (id: string, balance: number, more: object = {}): MoveInLine => ({
  ...{ kind: 'card', card_id: id, balance },
  ...more,
});
const hold = (id: string, amount: number, more: object = {}): MoveInLine => ({
  ...{ kind: 'hold', card_id: id, amount, expires_at: '2030-01-31T00:00:00Z' },
  ...more,
});

describe('a balance file', () => {
  const read = async (...sent: readonly MoveInLine[]) => {
    const file = await BalanceFile.read(linesOf(sent));
    return { count: file.cardCount, portions: [...file.portions()] };
  };

  test('has its cards in the order of the bytes of their ids, each with its holds', async () => {
    const { count, portions } = await read(
      card('b', 1, { status: 'lost' }),
      card('a-1', 2, { currency: 'EUR', status: 'active', last_four: '0017' }),
      hold('b', 3, { reference: 'one', description: 'Hotel' }),
      card('a', 4),
      card('Z', 5, { currency: 'EUR' }),
      hold('a', 6),
      hold('b', 7),
      { kind: 'transfer', card_id: 'a', reference: 'old' },
      card('a1', 8),
      card('~', 9),
    );
    expect(count).toBe(6);
    expect(portions).toEqual([
      [
        { card_id: 'Z', balance: 5, currency: 'EUR' },
        { card_id: 'a', balance: 4, holds: [{ amount: 6 }] },
        { card_id: 'a-1', balance: 2, currency: 'EUR', status: 'active' },
        { card_id: 'a1', balance: 8 },
        { card_id: 'b', balance: 1, status: 'lost', holds: [{ amount: 3, reference: 'one' }, { amount: 7 }] },
        { card_id: '~', balance: 9 },
      ],
    ]);
  });

  test('has portions of at most 1,000 cards, and fewer with many holds', async () => {
    const cards = Array.from({ length: 2500 }, (_, at) => card(`${10_000 + at}${'x'.repeat(at % 250)}`, at));
    const plain = await read(...cards.toReversed());
    expect(plain.portions.map(({ length }) => length)).toEqual([1000, 1000, 500]);
    expect(plain.portions.flat().map(({ balance }) => balance)).toEqual(cards.map((_, at) => at));
    const held = cards.slice(0, 30).flatMap((one) => [one, ...Array.from({ length: 400 }, () => hold(one.card_id, 1))]);
    expect((await read(...held)).portions.map(({ length }) => length)).toEqual([10, 10, 10]);
  });
});

describe('a delta', () => {
  const difference = (
    cardId: string,
    reason: DifferenceRecord['reason'],
    more: Partial<DifferenceRecord> = {},
  ): DifferenceRecord => ({
    ...{ number: 1, card_id: cardId, reason, currency: 'USD', here: null, there: null },
    ...{ transfer_id: null, reference: null, message: '' },
    ...more,
  });
  const make = (differences: readonly DifferenceRecord[], sent: readonly MoveInLine[] = []) => {
    const balanceOf: DeltaSources['balanceOf'] = async () => 5000;
    return deltaOf({ differences, lines: linesOf(sent), balanceOf });
  };

  test('releases holds before it changes balances, and places holds last', async () => {
    const added = [card('d', 9), { kind: 'transfer', card_id: 'd', reference: 'old' } as const, hold('d', 1)];
    const { lines, statuses, unresolved } = await make(
      [
        difference('a', 'hold_only_there', { there: 20 }),
        difference('b', 'other_balance', { here: 10, there: 7 }),
        difference('c', 'hold_captured_there', { here: 600, transfer_id: 'tr_1' }),
        difference('d', 'card_only_there', { there: 9 }),
        difference('e', 'other_hold_amount', { here: 8, there: 9, transfer_id: 'tr_2', reference: 'r' }),
        difference('f', 'hold_released_there', { here: 8, transfer_id: 'tr_3' }),
      ],
      [
        ...[card('a', 50), hold('a', 20), card('b', 7), card('c', 4400), ...added],
        ...[card('e', 70), hold('e', 9, { reference: 'r' }), card('f', 80)],
      ],
    );
    expect(lines).toEqual([
      { kind: 'release', card_id: 'c', transfer_id: 'tr_1' },
      { kind: 'release', card_id: 'e', transfer_id: 'tr_2' },
      { kind: 'release', card_id: 'f', transfer_id: 'tr_3' },
      { kind: 'change', card_id: 'b', balance_before: 10, balance: 7 },
      { kind: 'change', card_id: 'c', balance_before: 5000, balance: 4400 },
      ...added.slice(0, 2),
      hold('a', 20),
      hold('d', 1),
      hold('e', 9, { reference: 'r' }),
    ]);
    expect({ statuses, unresolved }).toEqual({ statuses: [], unresolved: [] });
  });

  test('takes each of several equal holds once, the last first', async () => {
    const [first, second] = ['2030-01-01T00:00:00Z', '2030-01-02T00:00:00Z'];
    const sent = [card('a', 50), hold('a', 20, { expires_at: first }), hold('a', 20, { expires_at: second })];
    const missing = difference('a', 'hold_only_there', { there: 20 });
    expect((await make([missing], sent)).lines).toEqual([hold('a', 20, { expires_at: second })]);
    expect((await make([missing, missing], sent)).lines.map((line) => line.expires_at)).toEqual([second, first]);
  });

  test('sets statuses, and leaves what it cannot resolve', async () => {
    const sent = [card('a', 1, { status: 'lost' }), card('b', 1, { status: 'preactive' }), card('d', 1)];
    const stays = [
      difference('b', 'other_status'),
      difference('c', 'card_only_here', { here: 1 }),
      difference('d', 'other_currency', { here: 1 }),
    ];
    const delta = await make([difference('a', 'other_status'), ...stays], sent);
    expect(delta).toEqual({ lines: [], statuses: [{ cardId: 'a', status: 'lost' }], unresolved: stays });
  });

  test('has another hash for another file, time, line and round', async () => {
    const one = await make([difference('b', 'other_balance', { here: 10, there: 7 })]);
    const other = await make([difference('b', 'other_balance', { here: 10, there: 8 })]);
    const hashes = [
      hashOfDelta('file', '2030-01-31', one, 1),
      hashOfDelta('other', '2030-01-31', one, 1),
      hashOfDelta('file', '2030-02-01', one, 1),
      hashOfDelta('file', '2030-01-31', other, 1),
      hashOfDelta('file', '2030-01-31', one, 2),
    ];
    expect(new Set(hashes).size).toBe(5);
    expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/);
  });
});
