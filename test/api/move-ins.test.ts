import { createHash, randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { type CreateMoveInBody, type MoveInRecord, TransferService } from '../../sdk/client.ts';
import { patiently } from '../harness/client/patience.ts';
import { expectBalancedBooks, refusalOf, useService } from '../harness/service.ts';

const running = useService();
const client = () => running().client;

afterAll(() => expectBalancedBooks(running()));

type Line = Readonly<Record<string, unknown>>;

const programWith = async () => (await client().programs.create({ name: 'Moved', currency: 'USD' })).program_id;
const inProgram = (programId: string) =>
  new TransferService({ baseUrl: running().url, programId, timeoutMilliseconds: 120_000 });

const card = (name: string, balance: number, more: object = {}): Line => ({
  kind: 'card',
  card_id: name,
  balance,
  ...more,
});
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
const hold = (name: string, amount: number, more: object = {}): Line => ({
  ...{ kind: 'hold', card_id: name, amount, expires_at: inDays(5) },
  ...more,
});

function create(
  programId: string,
  lines: readonly Line[],
  more: Partial<CreateMoveInBody> = {},
): Promise<MoveInRecord> {
  const sha256 = createHash('sha256').update(JSON.stringify(lines)).update(randomUUID()).digest('hex');
  const about = { name: 'cards.ndjson', sha256, as_of: '2026-01-31T09:30:00.000Z', line_count: lines.length };
  return client().moveIns.create({ program_id: programId, ...about, ...more });
}

const add = (id: string, first: number, lines: readonly Line[]) =>
  patiently(() => client().moveIns.addLines(id, { first_line: first, lines: [...lines] as never }));

async function moveIn(lines: readonly Line[], more: Partial<CreateMoveInBody> = {}) {
  const programId = await programWith();
  const { move_in_id: id } = await create(programId, lines, more);
  const record = await add(id, 1, lines);
  return { programId, id, record };
}

describe('add_move_in_lines', () => {
  test('creates cards with their balances, and holds money', async () => {
    const { programId, record } = await moveIn(
      [
        card('one', 12_500, { holder_reference: 'customer 1', last_four: '4242', metadata: { tier: 'gold' } }),
        card('none', 0, { status: 'inactive' }),
        card('euro', 700, { currency: 'EUR', expires_on: '2031-01-31' }),
        hold('one', 2000, { reference: 'hotel', description: 'Hotel' }),
      ],
      {
        totals: [
          { currency: 'EUR', cards: 1, balance: 700, holds: 0, held: 0 },
          { currency: 'USD', cards: 2, balance: 12_500, holds: 1, held: 2000 },
        ],
      },
    );
    expect(record).toMatchObject({
      ...{ status: 'moved', lines_received: 4, lines_undone: 0, adds_up: true },
      totals: [
        { currency: 'EUR', cards: 1, balance: 700, holds: 0, held: 0 },
        { currency: 'USD', cards: 2, balance: 12_500, holds: 1, held: 2000 },
      ],
    });
    const service = inProgram(programId);
    expect(await service.cards.get('one')).toMatchObject({
      ...{ balance: 12_500, held: 2000, available: 10_500, status: 'active' },
      ...{ holder_reference: 'customer 1', last_four: '4242', metadata: { tier: 'gold' } },
    });
    expect(await service.cards.get('none')).toMatchObject({ balance: 0, status: 'inactive' });
    expect(await service.cards.get('euro')).toMatchObject({ balance: 700, currency: 'EUR', expires_on: '2031-01-31' });
    expect((await service.cards.postings('one')).data).toMatchObject([
      { sequence: 1, purpose: 'opening', direction: 'in', amount: 12_500, balance: 12_500, transfer_id: null },
    ]);
    const [held] = (await service.cards.holds('one')).data;
    expect(held).toMatchObject({ amount: 2000, reference: 'hotel', description: 'Hotel', type: 'unload' });
    // The hold is a transfer like any other.
    const captured = await service.transfers.capture(held?.transfer_id ?? '', { amount: 1500 });
    expect(captured).toMatchObject({ status: 'completed', captured_amount: 1500 });
    expect(await service.cards.get('one')).toMatchObject({ balance: 11_000, held: 0 });
  });

  test('takes each line once and in order, and all lines of a request or none', async () => {
    const lines = ['a', 'b', 'c', 'd'].map((name, index) => card(name, index * 100));
    const programId = await programWith();
    const { move_in_id: id } = await create(programId, lines);
    expect(await refusalOf(add(id, 2, lines))).toMatchObject({
      Code: 'add_move_in_lines_schema',
      Message: 'The next line of the file is 1, and you sent lines from 2 on.',
      field: '/first_line',
    });
    expect(await add(id, 1, lines.slice(0, 2))).toMatchObject({
      status: 'receiving',
      lines_received: 2,
      moved_at: null,
    });
    expect(await add(id, 1, lines.slice(0, 2))).toMatchObject({ lines_received: 2 });
    expect(await refusalOf(add(id, 3, [...lines.slice(2), card('e', 1)]))).toMatchObject({ field: '/lines' });
    const half = [lines[2] ?? {}, card('a', 5)];
    expect(await refusalOf(add(id, 3, half))).toMatchObject({ Code: 'duplicate_card', field: '/lines/1/card_id' });
    expect(await refusalOf(inProgram(programId).cards.get('c'))).toMatchObject({ Code: 'card_not_found' });
    const moved = await add(id, 1, lines);
    expect(moved).toMatchObject({ status: 'moved', lines_received: 4, moved_at: expect.any(String), adds_up: null });
    expect(moved.totals).toEqual([{ currency: 'USD', cards: 4, balance: 600, holds: 0, held: 0 }]);
    expect({ ...(await client().moveIns.get(id)) }).toEqual({ ...moved });
  });

  test('takes each line once if the same lines are sent at the same time', async () => {
    const lines = Array.from({ length: 50 }, (_, index) => card(`card-${index}`, 10));
    const { move_in_id: id } = await create(await programWith(), lines);
    await Promise.all([1, 2, 3, 4].map(() => add(id, 1, lines)));
    expect((await client().moveIns.get(id)).totals).toEqual([
      { currency: 'USD', cards: 50, balance: 500, holds: 0, held: 0 },
    ]);
  });

  test('says whether the sums are those that the file states', async () => {
    const usd = { currency: 'USD', cards: 1, balance: 100, holds: 0, held: 0 };
    for (const stated of [
      { ...usd, balance: 101 },
      { ...usd, cards: 2 },
      { ...usd, holds: 1 },
      { ...usd, held: 1 },
    ]) {
      expect((await moveIn([card('one', 100)], { totals: [stated] })).record.adds_up).toBe(false);
    }
    expect((await moveIn([card('one', 100)], { totals: [usd] })).record.adds_up).toBe(true);
    const further = { ...usd, currency: 'EUR' };
    expect((await moveIn([card('one', 100)], { totals: [usd, further] })).record.adds_up).toBe(false);
  });

  test('refuses lines that exceed the sums that the file states', async () => {
    const usd = { currency: 'USD', cards: 2, balance: 100, holds: 1, held: 5 };
    const programId = await programWith();
    const { move_in_id: id } = await create(programId, [], { line_count: 10, totals: [usd] });
    await add(id, 1, [card('first', 60)]);
    for (const lines of [
      [card('one', 41)],
      [card('one', 1), card('two', 1)],
      [hold('first', 6)],
      [hold('first', 1), hold('first', 1)],
      [card('one', 0, { currency: 'EUR' })],
    ]) {
      expect(await refusalOf(add(id, 2, lines))).toMatchObject({ Code: 'add_move_in_lines_schema', field: '/lines' });
    }
    expect(await client().moveIns.get(id)).toMatchObject({ lines_received: 1 });
    expect(await add(id, 2, [card('one', 40), hold('first', 5)])).toMatchObject({ lines_received: 3, totals: [usd] });
  });
});

test('a line about a card needs an open card in this ledger', async () => {
  const { programId } = await moveIn([card('one', 100)]);
  const service = inProgram(programId);
  await service.cards.create({ card_id: 'closed' });
  await service.cards.update('closed', { status: 'closed' });
  const { move_in_id: id } = await create(programId, [hold('one', 10)]);
  for (const name of ['closed', 'nobody']) {
    for (const line of [
      hold(name, 1),
      { kind: 'change', card_id: name, balance_before: 0, balance: 1 },
      { kind: 'release', card_id: name, transfer_id: `tr_${'0'.repeat(32)}` },
      { kind: 'transfer', card_id: name, reference: 'old' },
    ]) {
      expect(await refusalOf(add(id, 1, [line]))).toMatchObject({
        Code: 'card_not_found',
        field: '/lines/0/card_id',
      });
    }
  }
  expect(await add(id, 1, [hold('one', 10)])).toMatchObject({ status: 'moved' });
});

test('refuses other lines under the numbers of lines that have taken effect', async () => {
  const lines = [card('one', 100), hold('one', 10), card('two', 5)];
  const { move_in_id: id } = await create(await programWith(), lines);
  await add(id, 1, lines.slice(0, 2));
  for (const other of [
    [card('other', 100)],
    [card('one', 101)],
    [lines[0] ?? {}, hold('one', 11)],
    [lines[0] ?? {}, card('one', 10)],
  ]) {
    expect(await refusalOf(add(id, 1, other))).toMatchObject({
      Code: 'add_move_in_lines_schema',
      field: `/lines/${other.length - 1}`,
    });
  }
  expect(await add(id, 1, lines)).toMatchObject({ status: 'moved', lines_received: 3 });
});

test('create_move_in returns the move-in of the same file, until that is undone', async () => {
  const sha256 = createHash('sha256').update(randomUUID()).digest('hex');
  const programId = await programWith();
  const lines = [card('one', 100)];
  const first = await create(programId, lines, { sha256 });
  expect(await create(programId, lines, { sha256 })).toMatchObject({ move_in_id: first.move_in_id });
  await add(first.move_in_id, 1, lines);
  expect(await create(programId, lines, { sha256 })).toMatchObject({ move_in_id: first.move_in_id, status: 'moved' });
  await client().moveIns.undo(first.move_in_id, { note: 'again' });
  const second = await create(programId, lines, { sha256 });
  expect(second.move_in_id).not.toBe(first.move_in_id);
  const { data } = await client().moveIns.list({ program_id: programId });
  expect(data.map(({ move_in_id: id }) => id)).toEqual([second.move_in_id, first.move_in_id]);
});

describe('undo_move_in', () => {
  const undo = (id: string) => patiently(() => client().moveIns.undo(id, { note: 'The wrong file.' }));

  test('cancels holds, takes balances back and closes the cards, and the cards can move in again', async () => {
    const lines = [card('one', 1000, { metadata: { tier: 'gold' } }), hold('one', 300), card('none', 0)];
    const { programId, id } = await moveIn(lines);
    const service = inProgram(programId);
    const [held] = (await service.cards.holds('one')).data;
    expect(await undo(id)).toMatchObject({
      ...{ status: 'undone', lines_undone: 3, totals: [], undone_by: 'sandbox', note: 'The wrong file.' },
      ...{ undone_at: expect.any(String), adds_up: null },
    });
    expect(await service.cards.get('one')).toMatchObject({ status: 'closed', balance: 0, held: 0 });
    expect(await service.cards.get('none')).toMatchObject({ status: 'closed', balance: 0 });
    expect(await service.transfers.get(held?.transfer_id ?? '')).toMatchObject({ status: 'canceled' });
    expect((await service.cards.postings('one')).data).toMatchObject([
      { sequence: 2, purpose: 'opening', direction: 'out', amount: 1000, balance: 0 },
      { sequence: 1, purpose: 'opening', direction: 'in', amount: 1000, balance: 1000 },
    ]);
    // Nothing is left to undo.
    expect(await undo(id)).toMatchObject({ status: 'undone', lines_undone: 3 });
    expect(await refusalOf(add(id, 1, lines))).toMatchObject({ Code: 'move_in_undone' });
    const again = await create(programId, lines);
    await add(again.move_in_id, 1, [card('one', 700, { last_four: '0001' }), hold('one', 100), card('none', 5)]);
    expect(await service.cards.get('one')).toMatchObject({
      ...{ status: 'active', balance: 700, held: 100, last_four: '0001', metadata: {} },
    });
    expect(await undo(again.move_in_id)).toMatchObject({ status: 'undone' });
  });

  test('undoes what a half-sent file has moved, in portions, also when asked twice at a time', async () => {
    const lines = Array.from({ length: 2500 }, (_, index) => card(`card-${index}`, 1));
    const { move_in_id: id } = await create(await programWith(), [...lines, card('missing', 1)]);
    for (const first of [0, 1000, 2000]) await add(id, first + 1, lines.slice(first, first + 1000));
    const records = await Promise.all([undo(id), undo(id)]);
    expect(records.map(({ lines_undone: undone }) => undone).sort()).toEqual([1000, 2000]);
    expect(await refusalOf(add(id, 2501, [card('missing', 1)]))).toMatchObject({ Code: 'move_in_undone' });
    expect(await undo(id)).toMatchObject({ status: 'undone', lines_undone: 2500, totals: [] });
  });

  test('is refused once money of a card has moved, and undoes nothing', async () => {
    const { programId, id } = await moveIn([card('used', 1000), card('other', 50), hold('other', 20)]);
    const service = inProgram(programId);
    const transfer = await service.transfers.create({ type: 'unload', card_id: 'used', amount: 400 });
    expect(await refusalOf(undo(id))).toMatchObject({
      Code: 'move_in_used',
      Message:
        "The card 'used' of line 1 has 6.00 USD, and had 10.00 USD when it moved in. Reverse or cancel its transfers first.",
    });
    expect(await client().moveIns.get(id)).toMatchObject({ status: 'moved', lines_undone: 0 });
    expect(await service.cards.get('other')).toMatchObject({ status: 'active', balance: 50, held: 20 });
    await service.transfers.reverse(transfer.transfer_id);
    const later = await service.transfers.create({ type: 'unload', card_id: 'used', amount: 1, capture: 'manual' });
    expect(await refusalOf(undo(id))).toMatchObject({ Code: 'move_in_used' });
    await service.transfers.cancel(later.transfer_id);
    expect(await undo(id)).toMatchObject({ status: 'undone' });
  });

  test('passes over a hold that was canceled or has expired', async () => {
    const { programId, id } = await moveIn([
      card('one', 1000),
      hold('one', 300, { reference: 'canceled' }),
      hold('one', 200, { expires_at: '2026-01-31T09:30:00.000Z' }),
    ]);
    const service = inProgram(programId);
    const { data } = await service.transfers.list({ reference: 'canceled' });
    await service.transfers.cancel(data[0]?.transfer_id ?? '');
    expect(await undo(id)).toMatchObject({ status: 'undone', totals: [] });
    expect(await service.cards.get('one')).toMatchObject({ balance: 0, held: 0 });
  });

  test('is refused if a captured hold was not reversed, even if the balance is the same again', async () => {
    const { programId, id } = await moveIn([card('one', 1000), hold('one', 300)]);
    const service = inProgram(programId);
    const [held] = (await service.cards.holds('one')).data;
    await service.transfers.capture(held?.transfer_id ?? '');
    await service.transfers.create({ type: 'load', card_id: 'one', amount: 300 });
    expect(await service.cards.get('one')).toMatchObject({ balance: 1000 });
    expect(await refusalOf(undo(id))).toMatchObject({
      Code: 'move_in_used',
      Message: "The card 'one' of line 1 has transfers that are not from the move-in. Reverse or cancel them first.",
    });
  });

  test('does not begin if it could not end: a card of its first portion holds money', async () => {
    const lines = [card('held', 10), ...Array.from({ length: 1000 }, (_, index) => card(`card-${index}`, 1))];
    const programId = await programWith();
    const { move_in_id: id } = await create(programId, lines);
    for (const first of [0, 1000]) await add(id, first + 1, lines.slice(first, first + 1000));
    const service = inProgram(programId);
    await service.transfers.create({ type: 'unload', card_id: 'held', amount: 1, capture: 'manual' });
    expect(await refusalOf(undo(id))).toMatchObject({ Code: 'move_in_used' });
    expect(await client().moveIns.get(id)).toMatchObject({ status: 'moved', lines_undone: 0 });
  });

  test('takes back nothing that another move-in has moved, and leaves a card that its holder has used closed', async () => {
    const programId = await programWith();
    const service = inProgram(programId);
    const line = [card('x', 100)];
    const first = await create(programId, line);
    await add(first.move_in_id, 1, line);
    await undo(first.move_in_id);
    const second = await create(programId, line);
    await add(second.move_in_id, 1, line);
    await service.transfers.create({ type: 'unload', card_id: 'x', amount: 100 });
    await service.cards.update('x', { status: 'closed' });
    const third = await create(programId, line);
    expect(await refusalOf(add(third.move_in_id, 1, line))).toMatchObject({ Code: 'duplicate_card' });
    expect(await refusalOf(undo(second.move_in_id))).toMatchObject({ Code: 'move_in_used' });
    // The undone move-in has nothing left.
    expect(await undo(first.move_in_id)).toMatchObject({ status: 'undone', lines_undone: 1 });
  });

  test('a card keeps its place in a move-in that is still being undone', async () => {
    const lines = Array.from({ length: 1001 }, (_, index) => card(`card-${index}`, 1));
    const programId = await programWith();
    const { move_in_id: id } = await create(programId, lines);
    for (const first of [0, 1000]) await add(id, first + 1, lines.slice(first, first + 1000));
    expect(await undo(id)).toMatchObject({ status: 'undoing', lines_undone: 1000 });
    const again = [card('card-1000', 5), card('card-0', 5)];
    const { move_in_id: other } = await create(programId, again);
    expect(await refusalOf(add(other, 1, again))).toMatchObject({ Code: 'duplicate_card', field: '/lines/1/card_id' });
    expect(await add(other, 1, again.slice(0, 1))).toMatchObject({ lines_received: 1 });
    expect(await undo(id)).toMatchObject({ status: 'undone' });
    expect(await inProgram(programId).cards.get('card-1000')).toMatchObject({ status: 'active', balance: 5 });
  });

  test('a card of an erased holder, or in another currency, cannot move in again', async () => {
    const { programId, id } = await moveIn([card('erased', 1), card('yen', 1000, { currency: 'JPY' })]);
    await undo(id);
    await inProgram(programId).cards.erase('erased');
    const erased = await create(programId, [card('erased', 1)]);
    expect(await refusalOf(add(erased.move_in_id, 1, [card('erased', 1)]))).toMatchObject({ Code: 'duplicate_card' });
    const dollars = await create(programId, [card('yen', 1)]);
    expect(await refusalOf(add(dollars.move_in_id, 1, [card('yen', 1)]))).toMatchObject({
      Code: 'add_move_in_lines_schema',
      field: '/lines/0/currency',
    });
  });
});

test('an opening balance is in the report of its day, and in no limit', async () => {
  const { programId } = await moveIn([card('one', 1000), hold('one', 100)]);
  const day = await client().days.get(programId, { day: new Date().toISOString().slice(0, 10) });
  const [usd] = day.currencies.filter(({ currency }) => currency === 'USD');
  expect(usd?.movements).toMatchObject([{ purpose: 'opening', postings: 1, cards: 1000, funding: 0 }]);
  expect(day.adds_up).toBe(true);
});

describe('lines that bring cards to the latest state of the old ledger', () => {
  const change = (name: string, before: number, balance: number): Line => ({
    ...{ kind: 'change', card_id: name, balance_before: before, balance },
  });
  const keep = (name: string, more: object): Line => ({ kind: 'transfer', card_id: name, ...more });
  const undo = (id: string) => patiently(() => client().moveIns.undo(id, { note: 'The wrong file.' }));

  /** A second move-in of the same program. */
  async function follow(programId: string, lines: readonly Line[]) {
    const { move_in_id: id } = await create(programId, lines);
    return { id, record: await add(id, 1, lines) };
  }

  test('change balances and release holds, and are undone before the move-in that they follow', async () => {
    const first = await moveIn([card('up', 100), card('down', 100), card('held', 500), hold('held', 200)]);
    const { programId } = first;
    const service = inProgram(programId);
    const [held] = (await service.cards.holds('held')).data;
    const { id, record } = await follow(programId, [
      change('up', 100, 130),
      { kind: 'release', card_id: 'held', transfer_id: held?.transfer_id },
      change('held', 500, 300),
      change('down', 100, 0),
      card('new', 7),
      hold('new', 3),
    ]);
    expect(record).toMatchObject({
      ...{ status: 'moved', adds_up: null },
      totals: [{ currency: 'USD', cards: 1, balance: 30 - 200 - 100 + 7, holds: 0, held: -197 }],
    });
    const balances = async () =>
      Promise.all(
        ['up', 'down', 'held', 'new'].map(async (name) => {
          const { balance, held: amount, status } = await service.cards.get(name);
          return [name, balance, amount, status];
        }),
      );
    expect(await balances()).toEqual([
      ['up', 130, 0, 'active'],
      ['down', 0, 0, 'active'],
      ['held', 300, 0, 'active'],
      ['new', 7, 3, 'active'],
    ]);
    expect(await service.transfers.get(held?.transfer_id ?? '')).toMatchObject({ status: 'canceled' });
    expect((await service.cards.postings('held')).data).toMatchObject([
      { purpose: 'opening', direction: 'out', amount: 200, balance: 300 },
      { purpose: 'opening', direction: 'in', amount: 500, balance: 500 },
    ]);
    expect(await refusalOf(undo(first.id))).toMatchObject({
      Code: 'move_in_used',
      Message: expect.stringContaining(`The move-in ${id} has changed the card`),
    });
    expect(await undo(id)).toMatchObject({ status: 'undone', totals: [] });
    expect(await balances()).toEqual([
      ['up', 100, 0, 'active'],
      ['down', 100, 0, 'active'],
      // A released hold stays released.
      ['held', 500, 0, 'active'],
      ['new', 0, 0, 'closed'],
    ]);
    expect(await undo(first.id)).toMatchObject({ status: 'undone', totals: [] });
    expect((await balances()).map(([, balance, , status]) => [balance, status])).toEqual(Array(4).fill([0, 'closed']));
  });

  test('are undone with their card in the same move-in', async () => {
    const { id, programId } = await moveIn([card('one', 100), change('one', 100, 40), change('one', 40, 90)]);
    expect(await inProgram(programId).cards.get('one')).toMatchObject({ balance: 90 });
    expect(await undo(id)).toMatchObject({ status: 'undone', totals: [] });
    expect(await inProgram(programId).cards.get('one')).toMatchObject({ balance: 0, status: 'closed' });
  });

  test('are refused if the books are not what they say, and then change nothing', async () => {
    const { programId } = await moveIn([card('one', 100), hold('one', 60), card('other', 0)]);
    const service = inProgram(programId);
    const [held] = (await service.cards.holds('one')).data;
    const { move_in_id: id } = await create(programId, [change('one', 1, 2)]);
    for (const [line, code, field] of [
      [change('one', 90, 100), 'add_move_in_lines_schema', 'balance_before'],
      [change('one', 100, 100), 'add_move_in_lines_schema', 'balance'],
      [change('one', 100, 59), 'insufficient_funds', 'balance'],
      [{ ...change('one', 100, 70), amount: 5 }, 'add_move_in_lines_schema', 'amount'],
      [{ kind: 'release', card_id: 'one', transfer_id: 'tr_1' }, 'add_move_in_lines_schema', 'transfer_id'],
      [
        { kind: 'release', card_id: 'other', transfer_id: held?.transfer_id },
        'add_move_in_lines_schema',
        'transfer_id',
      ],
      [{ kind: 'release', card_id: 'one' }, 'add_move_in_lines_schema', 'transfer_id'],
      [keep('one', {}), 'add_move_in_lines_schema', 'reference'],
      [keep('one', { reference: '4242 4242 4242 4242' }), 'card_number_refused', 'reference'],
      [keep('one', { idempotency_key: '4242424242424242' }), 'card_number_refused', 'idempotency_key'],
    ] as const) {
      expect(await refusalOf(add(id, 1, [line]))).toMatchObject({ Code: code, field: `/lines/0/${field}` });
    }
    expect(await service.cards.get('one')).toMatchObject({ balance: 100, held: 60 });
    await add(id, 1, [change('one', 100, 60)]);
    expect(await add(id, 1, [change('one', 100, 60)])).toMatchObject({ lines_received: 1 });
    expect(await refusalOf(add(id, 1, [change('one', 100, 61)]))).toMatchObject({ field: '/lines/0' });
    expect(await service.cards.get('one')).toMatchObject({ balance: 60, held: 60 });
  });

  test('a change is not undone once money of the card has moved', async () => {
    const { programId } = await moveIn([card('one', 100)]);
    const { id } = await follow(programId, [change('one', 100, 150), hold('one', 20, { reference: 'later' })]);
    const service = inProgram(programId);
    const [held] = (await service.cards.holds('one')).data;
    await service.transfers.capture(held?.transfer_id ?? '');
    expect(await refusalOf(undo(id))).toMatchObject({ Code: 'move_in_used' });
    await service.transfers.reverse(held?.transfer_id ?? '');
    expect(await undo(id)).toMatchObject({ status: 'undone' });
    expect(await service.cards.get('one')).toMatchObject({ balance: 100, held: 0 });
  });

  test('a captured hold of a move-in without the line of its card is not passed over', async () => {
    const { programId } = await moveIn([card('one', 100)]);
    const others = Array.from({ length: 1000 }, (_, index) => card(`card-${index}`, 1));
    const { move_in_id: id } = await create(programId, [hold('one', 20), ...others]);
    await add(id, 1, [hold('one', 20)]);
    await add(id, 2, others);
    const service = inProgram(programId);
    const [held] = (await service.cards.holds('one')).data;
    await service.transfers.capture(held?.transfer_id ?? '');
    expect(await refusalOf(undo(id))).toMatchObject({ Code: 'move_in_used' });
    // The lines of the first portion could be undone, but not all.
    expect(await client().moveIns.get(id)).toMatchObject({ status: 'moved', lines_undone: 0 });
  });

  test('are refused in an older move-in than the newest one of their card, so that both can be undone', async () => {
    const programId = await programWith();
    const late = [change('one', 120, 150)];
    const older = await create(programId, late);
    const newer = await follow(programId, [card('one', 100), change('one', 100, 120)]);
    for (const line of [...late, hold('one', 10), keep('one', { reference: 'old' })]) {
      expect(await refusalOf(add(older.move_in_id, 1, [line]))).toMatchObject({
        Code: 'add_move_in_lines_schema',
        field: '/lines/0/card_id',
        Message: expect.stringContaining(`the move-in ${newer.id}, which is newer than this one`),
      });
    }
    await undo(older.move_in_id);
    const { id } = await follow(programId, late);
    expect(await undo(id)).toMatchObject({ status: 'undone' });
    expect(await undo(newer.id)).toMatchObject({ status: 'undone' });
  });

  test('do not put money back on a card that was closed since', async () => {
    const first = await moveIn([card('one', 100), card('two', 100), change('two', 100, 0)]);
    const service = inProgram(first.programId);
    const { id } = await follow(first.programId, [change('one', 100, 0)]);
    for (const name of ['one', 'two']) await service.cards.update(name, { status: 'closed' });
    expect(await refusalOf(undo(id))).toMatchObject({
      Code: 'move_in_used',
      Message: expect.stringContaining("The card 'one' of line 1 was closed since"),
    });
    const other = await moveIn([card('two', 100), change('two', 100, 0)]);
    await inProgram(other.programId).cards.update('two', { status: 'closed' });
    // The opening balance of this card is undone, too.
    expect(await undo(other.id)).toMatchObject({ status: 'undone', totals: [] });
    expect(await inProgram(other.programId).cards.get('two')).toMatchObject({ status: 'closed', balance: 0 });
  });

  test('lower no balance if the move-in states sums, because others could add the money again', async () => {
    const { programId } = await moveIn([card('one', 100), card('two', 0)]);
    const stated = { currency: 'USD', cards: 0, balance: 50, holds: 0, held: 0 };
    const { move_in_id: id } = await create(programId, [], { line_count: 5, totals: [stated] });
    expect(await refusalOf(add(id, 1, [change('one', 100, 0), change('two', 0, 100)]))).toMatchObject({
      Code: 'add_move_in_lines_schema',
      field: '/lines',
      Message: expect.stringContaining('lowers the balance'),
    });
    expect(await add(id, 1, [change('two', 0, 50)])).toMatchObject({ lines_received: 1 });
    expect(await refusalOf(add(id, 2, [change('one', 100, 101)]))).toMatchObject({ field: '/lines' });
  });

  test('keep the references and idempotency keys of the old ledger, so that no transfer is carried out twice', async () => {
    const [reference, key] = [randomUUID(), randomUUID()];
    const { programId, id, record } = await moveIn([
      card('one', 100),
      keep('one', { reference, idempotency_key: key }),
    ]);
    expect(record).toMatchObject({ status: 'moved', totals: [{ cards: 1, balance: 100, holds: 0 }] });
    const changed = keep('one', { reference, idempotency_key: randomUUID() });
    expect(await refusalOf(add(id, 2, [changed]))).toMatchObject({ field: '/lines/0' });
    expect(await add(id, 2, [keep('one', { reference, idempotency_key: key })])).toMatchObject({ lines_received: 2 });
    const service = inProgram(programId);
    const pay = (more: object, idempotencyKey: string = randomUUID()) =>
      service.transfers.create({ type: 'unload', card_id: 'one', amount: 10, ...more }, { idempotencyKey });
    expect(await refusalOf(pay({ reference }))).toMatchObject({
      Code: 'duplicate_reference',
      Message: `The reference '${reference}' already belongs to a transfer of the ledger that the card moved in from (${id}). A reference names one transfer of a card program at a time.`,
      moneyMoved: 'no',
    });
    for (const terms of [{}, { amount: 11 }]) {
      expect(await refusalOf(pay(terms, key))).toMatchObject({
        Code: 'idempotency_key_exists',
        Message: expect.stringContaining('was used in the ledger that the card moved in from'),
        moneyMoved: 'no',
      });
    }
    expect(await service.cards.get('one')).toMatchObject({ balance: 100 });
    const { move_in_id: other } = await create(programId, [keep('one', { reference })]);
    expect(await refusalOf(add(other, 1, [keep('one', { reference })]))).toMatchObject({
      Code: 'duplicate_reference',
      Message: `Line 1: the reference '${reference}' already belongs to a line of the move-in ${id}.`,
    });
    expect(await refusalOf(add(other, 1, [hold('one', 1, { reference })]))).toMatchObject({
      Code: 'duplicate_reference',
    });
    await undo(id);
    await moveIn([card('two', 1), keep('two', { reference })]);
    const again = [card('one', 100), keep('one', { reference, idempotency_key: key })];
    const { move_in_id: second } = await create(programId, again);
    expect(await add(second, 1, again)).toMatchObject({ status: 'moved' });
    expect(await refusalOf(pay({}, key))).toMatchObject({ Code: 'idempotency_key_exists' });
    const used = randomUUID();
    await pay({}, used);
    const { move_in_id: third } = await create(programId, [keep('one', { idempotency_key: used })]);
    expect(await refusalOf(add(third, 1, [keep('one', { idempotency_key: used })]))).toMatchObject({
      Code: 'add_move_in_lines_schema',
      field: '/lines/0/idempotency_key',
    });
  });
});
