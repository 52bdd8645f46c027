import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { type ComparisonRecord, TransferService } from '../../sdk/client.ts';
import { patiently } from '../harness/client/patience.ts';
import { expectBalancedBooks, refusalOf, useOwnService } from '../harness/service.ts';

const running = useOwnService('It moves the clock, and disables card programs.');
const client = () => running().client;

afterAll(() => expectBalancedBooks(running()));

type Card = {
  readonly card_id: string;
  readonly balance: number;
  readonly currency?: string;
  readonly status?: string;
  readonly holds?: readonly { readonly amount: number; readonly reference?: string }[];
};

const sha256 = () => `${randomUUID()}${randomUUID()}`.replaceAll('-', '');
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
const inProgram = (programId: string) =>
  new TransferService({ baseUrl: running().url, programId, timeoutMilliseconds: 120_000 });

/** Moves cards in with their holds. Returns the card program. */
async function moveIn(cards: readonly Card[], known?: string): Promise<string> {
  const programId = known ?? (await client().programs.create({ name: 'Compared', currency: 'USD' })).program_id;
  const lines = cards.flatMap(({ holds = [], ...card }) => [
    { kind: 'card', ...card },
    ...holds.map((hold) => ({ kind: 'hold', card_id: card.card_id, expires_at: inDays(5), ...hold })),
  ]);
  await addLines(programId, lines);
  return programId;
}

async function addLines(programId: string, lines: readonly object[]): Promise<string> {
  const about = { program_id: programId, name: 'cards', sha256: sha256(), as_of: '2026-01-31T09:30:00Z' };
  const { move_in_id: id } = await client().moveIns.create({ ...about, line_count: lines.length });
  await patiently(() => client().moveIns.addLines(id, { first_line: 1, lines: [...lines] as never }));
  return id;
}

let secondsAhead = 0;

/** Moves the clock forward. Returns the time. */
async function forward(minutes: number): Promise<string> {
  secondsAhead += minutes * 60;
  return (await client().sandbox.moveClock({ seconds_ahead: secondsAhead })).now;
}

type Options = { readonly asOf?: string; readonly portion?: number };

/** Compares a program with a file of cards, in portions. */
async function compare(programId: string, cards: readonly Card[], options: Options = {}): Promise<ComparisonRecord> {
  const { asOf, portion = 1000 } = options;
  const inOrder = [...cards].sort((one, other) => (one.card_id < other.card_id ? -1 : 1));
  const about = { program_id: programId, name: 'day.csv', sha256: sha256(), card_count: cards.length };
  let record = await client().comparisons.create({ ...about, ...(asOf === undefined ? {} : { as_of: asOf }) });
  while (record.status === 'comparing') {
    const { comparison_id: id, cards_received: received } = record;
    const body = { first_card: received + 1, cards: inOrder.slice(received, received + portion) };
    record = await patiently(() => client().comparisons.addCards(id, body as never));
  }
  return record;
}

/** Reads all differences, in pages of three. */
async function differencesOf({ comparison_id: id }: ComparisonRecord) {
  const found = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { limit: 3, ...(cursor === undefined ? {} : { cursor }) };
    const page = await client().comparisons.differences(id, query);
    found.push(...page.data);
    cursor = page.next_cursor;
  }
  return found;
}

const FILE: readonly Card[] = [
  { card_id: 'balance', balance: 1000 },
  { card_id: 'captured', balance: 1000, holds: [{ amount: 300, reference: 'captured' }, { amount: 5 }] },
  { card_id: 'captured-in-part', balance: 1000, holds: [{ amount: 300 }] },
  { card_id: 'closed', balance: 0 },
  { card_id: 'equal', balance: 700, status: 'inactive', holds: [{ amount: 10, reference: 'a' }, { amount: 20 }] },
  { card_id: 'euro', balance: 500, currency: 'EUR' },
  { card_id: 'hold-amount', balance: 100, holds: [{ amount: 30, reference: 'amount' }] },
  { card_id: 'hold-there', balance: 100 },
  { card_id: 'only-here', balance: 50 },
  { card_id: 'released', balance: 1000, holds: [{ amount: 40, reference: 'released' }] },
  { card_id: 'status', balance: 1 },
  { card_id: 'transfer-here', balance: 1000 },
  { card_id: 'transfer-there', balance: 1000 },
];

describe('add_compared_cards', () => {
  test.each([1, 2, 1000])(
    'finds each planted difference once, with the right reason, in portions of %i',
    async (portion) => {
      const programId = await moveIn(FILE);
      const service = inProgram(programId);
      await service.cards.update('closed', { status: 'closed' });
      await service.cards.create({ card_id: 'new-here' });
      const paid = await service.transfers.create({ type: 'unload', card_id: 'transfer-here', amount: 250 });
      await service.transfers.create({ type: 'unload', card_id: 'balance', amount: 10 });
      const there: readonly Card[] = [
        { card_id: 'balance', balance: 900 },
        { card_id: 'captured', balance: 700, holds: [{ amount: 5 }] },
        { card_id: 'captured-in-part', balance: 800 },
        { card_id: 'closed', balance: 0 },
        { card_id: 'equal', balance: 700, status: 'inactive', holds: [{ amount: 20 }, { amount: 10, reference: 'a' }] },
        { card_id: 'euro', balance: 500 },
        { card_id: 'hold-amount', balance: 100, holds: [{ amount: 31, reference: 'amount' }] },
        { card_id: 'hold-there', balance: 100, holds: [{ amount: 1, reference: 'new' }] },
        { card_id: 'new-there', balance: 8 },
        { card_id: 'released', balance: 1000 },
        { card_id: 'status', balance: 1, status: 'lost' },
        { card_id: 'transfer-here', balance: 1000 },
        { card_id: 'transfer-there', balance: 400 },
      ];
      const record = await compare(programId, there, { portion });
      const differences = await differencesOf(record);
      expect(
        differences.map(({ card_id: id, reason, here, there: other, reference }) => [
          id,
          reason,
          here,
          other,
          reference,
        ]),
      ).toEqual([
        ['balance', 'other_balance', 990, 900, null],
        ['captured', 'hold_captured_there', 300, null, 'captured'],
        ['captured-in-part', 'hold_captured_there', 300, null, null],
        ['closed', 'card_only_there', null, 0, null],
        ['euro', 'other_currency', 500, null, null],
        ['hold-amount', 'other_hold_amount', 30, 31, 'amount'],
        ['hold-there', 'hold_only_there', null, 1, 'new'],
        ['new-here', 'card_only_here', 0, null, null],
        ['new-there', 'card_only_there', null, 8, null],
        ['only-here', 'card_only_here', 50, null, null],
        ['released', 'hold_released_there', 40, null, 'released'],
        ['status', 'other_status', null, null, null],
        ['transfer-here', 'transfer_only_here', 750, 1000, null],
        ['transfer-there', 'transfer_only_there', 1000, 400, null],
      ]);
      expect(differences.map(({ number }) => number)).toEqual(differences.map((_, index) => index + 1));
      expect(differences.find(({ card_id: id }) => id === 'transfer-here')?.transfer_id).toBe(paid.transfer_id);
      expect(record).toMatchObject({
        ...{ status: 'different', cards_received: there.length, difference_count: 14 },
        report:
          "Not every card has the balance and the holds that the old ledger has in 'day.csv': 14 cards differ, and the file has 13 cards.",
      });
      expect(record.differences.find(({ reason }) => reason === 'card_only_here')).toEqual({
        reason: 'card_only_here',
        count: 2,
      });
      const ofReason = await client().comparisons.differences(record.comparison_id, { reason: 'hold_captured_there' });
      expect(ofReason.data.map(({ card_id: id }) => id)).toEqual(['captured', 'captured-in-part']);
    },
  );

  test('finds no difference in the file that moved in, and says so in one sentence', async () => {
    const programId = await client().programs.create({ name: 'Compared', currency: 'USD' });
    // A card of the program that never was in the old ledger takes no part.
    await inProgram(programId.program_id).cards.create({ card_id: 'older' });
    await moveIn(FILE, programId.program_id);
    const totals = [
      { currency: 'EUR', cards: 1, balance: 500, holds: 0, held: 0 },
      { currency: 'USD', cards: 12, balance: 6951, holds: 7, held: 705 },
    ];
    expect(await compare(programId.program_id, FILE)).toMatchObject({
      ...{ status: 'equal', difference_count: 0, differences: [], totals_here: totals, totals_there: totals },
      report:
        "Every card has the balance and the holds that the old ledger has in 'day.csv': 1 card with 5.00 EUR and no holds; 12 cards with 69.51 USD, of which 7 holds have 7.05 USD.",
    });
  });

  test('says that only statuses differ, if all balances and holds are equal', async () => {
    const programId = await moveIn(FILE);
    const there = FILE.map((card) => (card.card_id === 'status' ? { ...card, status: 'lost' } : card));
    expect(await compare(programId, there)).toMatchObject({
      ...{ status: 'different', differences: [{ reason: 'other_status', count: 1 }] },
      report:
        "Every card has the balance and the holds that the old ledger has in 'day.csv', but 1 of its 13 cards has another status.",
    });
  });

  test('compares all cards here, also if the file has far fewer', async () => {
    const cards = Array.from({ length: 4500 }, (_, index) => ({ card_id: `card-${index}`, balance: 1 }));
    const programId = await moveIn(cards.slice(0, 1000));
    for (const first of [1000, 2000, 3000, 4000]) await moveIn(cards.slice(first, first + 1000), programId);
    expect(await compare(programId, [cards[0] as Card])).toMatchObject({
      ...{ status: 'different', difference_count: 4499, cards_received: 1 },
      differences: [{ reason: 'card_only_here', count: 4499 }],
      totals_here: [{ cards: 4500, balance: 4500 }],
    });
    expect(await compare(programId, cards)).toMatchObject({ status: 'equal', cards_received: 4500 });
  });

  test('compares fewer cards than sent, if they have thousands of holds', async () => {
    const cards = Array.from({ length: 7 }, (_, index) => ({ card_id: `card-${index}`, balance: 5000 }));
    const programId = await moveIn(cards);
    const holds = Array.from({ length: 1000 }, () => ({ amount: 1 }));
    const there = cards.map((card) => ({ ...card, holds }));
    const about = { program_id: programId, name: 'day.csv', sha256: sha256(), card_count: 7 };
    const { comparison_id: id } = await client().comparisons.create(about);
    const send = () => patiently(() => client().comparisons.addCards(id, { first_card: 1, cards: there as never }));
    expect(await send()).toMatchObject({ status: 'comparing', cards_received: 5, difference_count: 5000 });
    expect(await send()).toMatchObject({ status: 'different', cards_received: 7, difference_count: 7000 });
  });

  test('compares each card once, if the same cards are sent several times and at the same time', async () => {
    const programId = await moveIn(FILE);
    const about = { program_id: programId, name: 'day.csv', sha256: sha256(), card_count: FILE.length };
    const { comparison_id: id } = await client().comparisons.create(about);
    const send = (first: number, cards: readonly Card[]) =>
      patiently(() => client().comparisons.addCards(id, { first_card: first, cards: cards as never }));
    await Promise.all([1, 2, 3].map(() => send(1, FILE.slice(0, 6))));
    await send(1, FILE.slice(0, 8));
    expect(await send(3, FILE.slice(2))).toMatchObject({ status: 'equal', cards_received: FILE.length });
    expect(await send(1, FILE)).toMatchObject({ status: 'equal', totals_there: [{ cards: 1 }, { cards: 12 }] });
  });

  test('refuses a gap, another order, too many cards and cards that are wrong, and compares nothing', async () => {
    const programId = await moveIn([{ card_id: 'a', balance: 1 }]);
    const about = { program_id: programId, name: 'day.csv', sha256: sha256(), card_count: 3 };
    const { comparison_id: id } = await client().comparisons.create(about);
    const ok = { card_id: 'b', balance: 1 };
    for (const [first, cards, field] of [
      [2, [ok], '/first_card'],
      [1, [ok, ok, ok, ok], '/cards'],
      [1, [ok, { card_id: 'a', balance: 1 }], '/cards/1/card_id'],
      [1, [ok, ok], '/cards/1/card_id'],
      [1, [{ card_id: 'a' }], '/cards/0/balance'],
      [1, [{ ...ok, balance: -1 }], '/cards/0/balance'],
      [1, [{ ...ok, currency: 'XXY' }], '/cards/0/currency'],
      [1, [{ ...ok, status: 'closed' }], '/cards/0/status'],
      [1, [{ ...ok, holds: [{ amount: 0 }] }], '/cards/0/holds/0/amount'],
      [1, [{ ...ok, holds: [{}] }], '/cards/0/holds/0/amount'],
      [1, ['x'], '/cards/0'],
      [1, [{ ...ok, holds: [{ amount: 1, expires: 1 }] }], '/cards/0/holds/0/expires'],
    ] as const) {
      const refusal = await refusalOf(client().comparisons.addCards(id, { first_card: first, cards: cards as never }));
      expect(refusal).toMatchObject({ Code: 'add_compared_cards_schema', field });
    }
    const number = { ...ok, holds: [{ amount: 1, reference: '4242 4242 4242 4242' }] };
    expect(
      await refusalOf(client().comparisons.addCards(id, { first_card: 1, cards: [number] as never })),
    ).toMatchObject({ Code: 'card_number_refused', field: '/cards/0/holds/0/reference' });
    expect(await client().comparisons.get(id)).toMatchObject({ status: 'comparing', cards_received: 0 });
  });

  test('compares the books of an earlier time', async () => {
    const programId = await moveIn([
      {
        card_id: 'a',
        balance: 1000,
        holds: [
          { amount: 100, reference: 'kept' },
          { amount: 50, reference: 'canceled' },
        ],
      },
      { card_id: 'b', balance: 10 },
    ]);
    const service = inProgram(programId);
    const then = await forward(5);
    await forward(5);
    const holds = (await service.cards.holds('a')).data;
    for (const { reference, transfer_id: id } of holds) {
      if (reference === 'canceled') await service.transfers.cancel(id);
      else await service.transfers.capture(id);
    }
    await service.transfers.create({ type: 'unload', card_id: 'b', amount: 3 });
    await service.cards.create({ card_id: 'later' });
    await service.transfers.create({ type: 'unload', card_id: 'a', amount: 25, capture: 'manual' });
    await forward(5);
    const before = [
      {
        card_id: 'a',
        balance: 1000,
        holds: [
          { amount: 100, reference: 'kept' },
          { amount: 50, reference: 'canceled' },
        ],
      },
      { card_id: 'b', balance: 10 },
    ];
    expect(await compare(programId, before, { asOf: then })).toMatchObject({ status: 'equal', as_of: then });
    const now = await compare(programId, before);
    expect((await differencesOf(now)).map(({ card_id: id, reason }) => [id, reason])).toEqual([
      ['a', 'transfer_only_here'],
      ['a', 'hold_released_there'],
      ['a', 'hold_only_there'],
      ['a', 'hold_only_there'],
      ['b', 'transfer_only_here'],
      ['later', 'card_only_here'],
    ]);
    const soon = new Date(Date.parse(await forward(1)) - 10_000).toISOString();
    expect(await refusalOf(compare(programId, before, { asOf: soon }))).toMatchObject({ field: '/as_of' });
  });

  test('compares a card that was closed later, and holds from when they begin until they expire', async () => {
    const programId = await moveIn([
      { card_id: 'closed', balance: 0 },
      { card_id: 'expiring', balance: 100 },
      { card_id: 'scheduled', balance: 100 },
    ]);
    const service = inProgram(programId);
    const now = Date.parse(await forward(5));
    const inMinutes = (minutes: number) => new Date(now + minutes * 60_000).toISOString();
    const held = { type: 'unload', amount: 10, capture: 'manual' } as const;
    await service.transfers.create({ ...held, card_id: 'expiring', expires_at: inMinutes(60) });
    await service.transfers.create({ ...held, card_id: 'scheduled', scheduled_for: inMinutes(60) });
    const canceled = { ...held, card_id: 'scheduled', scheduled_for: inMinutes(90) };
    const { transfer_id: id } = await service.transfers.create(canceled);
    const then = await forward(10);
    await forward(10);
    await service.transfers.cancel(id);
    await service.cards.update('closed', { status: 'closed' });
    const later = await forward(100);
    await forward(10);
    const [closed, expiring, scheduled] = [
      { card_id: 'closed', balance: 0 },
      { card_id: 'expiring', balance: 100 },
      { card_id: 'scheduled', balance: 100 },
    ];
    const first = [closed, { ...expiring, holds: [{ amount: 10 }] }, scheduled];
    expect(await compare(programId, first, { asOf: then })).toMatchObject({ status: 'equal' });
    const second = [expiring, { ...scheduled, holds: [{ amount: 10 }] }];
    await expect
      .poll(() => compare(programId, second, { asOf: later }), { timeout: 20_000 })
      .toMatchObject({ status: 'equal' });
    expect((await compare(programId, [closed, ...second], { asOf: later })).differences).toEqual([
      { reason: 'card_only_there', count: 1 },
    ]);
  });

  test('leaves cards of processors out, because their balances are not here', async () => {
    const programId = await moveIn([{ card_id: 'a', balance: 1 }]);
    const service = inProgram(programId);
    await service.cards.create({ card_id: 'p', connector_id: 'simulator', processor_token: 'sim_approve' });
    await service.transfers.create({ type: 'unload', card_id: 'p', amount: 500 });
    await client().switch.change({ program_id: programId, disabled: true, reason: 'Cut-over' });
    const compared = await compare(programId, [{ card_id: 'a', balance: 1 }]);
    expect(compared).toMatchObject({ status: 'equal', totals_here: [{ cards: 1, balance: 1 }] });
    const [difference] = await differencesOf(
      await compare(programId, [
        { card_id: 'a', balance: 1 },
        { card_id: 'p', balance: 500 },
      ]),
    );
    expect(difference).toMatchObject({
      ...{ card_id: 'p', reason: 'card_only_there', here: null, there: 500 },
      message: 'The file has the card with 5.00 USD. Here it does not exist, is closed or belongs to a processor.',
    });
    expect(await client().comparisons.cutOver(compared.comparison_id, { note: 'Checked.' })).toMatchObject({
      status: 'cut_over',
    });
  });
});

describe('cut_over', () => {
  const disable = (programId: string, disabled = true) =>
    client().switch.change({ program_id: programId, disabled, ...(disabled ? { reason: 'Cut-over' } : {}) });
  const cutOver = ({ comparison_id: id }: ComparisonRecord) => client().comparisons.cutOver(id, { note: 'Checked.' });

  test('enables the transfers of the program once the comparison is equal', async () => {
    const programId = await moveIn(FILE);
    await disable(programId);
    const service = inProgram(programId);
    const pay = () => service.transfers.create({ type: 'unload', card_id: 'balance', amount: 1 });
    expect(await refusalOf(pay())).toMatchObject({ Code: 'service_disabled' });
    const compared = await compare(programId, FILE);
    const done = await cutOver(compared);
    expect(done).toMatchObject({
      ...{ status: 'cut_over', cut_over_by: 'sandbox', note: 'Checked.', report: compared.report },
      cut_over_at: expect.any(String),
    });
    expect(await pay()).toMatchObject({ status: 'completed' });
    // A repetition changes nothing.
    expect({ ...(await cutOver(compared)) }).toEqual({ ...done });
    const { data } = await client().audit.list({ action: 'cut_over' });
    expect(data.find(({ subject_id: id }) => id === compared.comparison_id)).toMatchObject({
      details: { report: compared.report, sha256: compared.sha256, note: 'Checked.' },
    });
  });

  test('is refused with everything that would make the report a lie, and enables nothing', async () => {
    const programId = await moveIn(FILE);
    const service = inProgram(programId);
    const refused = async (compared: ComparisonRecord, message: string) => {
      const refusal = await refusalOf(cutOver(compared));
      expect(refusal.Code).toBe('cut_over_refused');
      expect(refusal.Message).toContain(message);
    };
    const whileEnabled = await compare(programId, FILE);
    await refused(whileEnabled, 'are enabled. Disable them');
    await disable(programId);
    await refused(whileEnabled, 'after the comparison had begun');
    const about = { program_id: programId, name: 'day.csv', sha256: sha256(), card_count: 2 };
    await refused(await client().comparisons.create(about), 'Only 0 of the 2 cards of the file are compared');
    await refused(await compare(programId, FILE.slice(1)), 'has found 1 difference');
    const before = await compare(programId, FILE);
    await addLines(programId, [{ kind: 'change', card_id: 'balance', balance_before: 1000, balance: 900 }]);
    await refused(before, 'Cards have changed');
    const changed = FILE.map((card) => (card.card_id === 'balance' ? { ...card, balance: 900 } : card));
    const again = await compare(programId, changed);
    const [held] = (await service.cards.holds('released')).data;
    await service.transfers.cancel(held?.transfer_id ?? '');
    await refused(again, 'Holds have ended or begun');
    const released = changed.map((card) => (card.card_id === 'released' ? { ...card, holds: [] } : card));
    const newCard = await compare(programId, released);
    await service.cards.create({ card_id: 'zzz' });
    await refused(newCard, 'Cards have changed');
    const whole = [...released, { card_id: 'zzz', balance: 0 }];
    const asOf = new Date(Date.parse(await forward(10)) - 120_000).toISOString();
    await refused(await compare(programId, whole, { asOf }), 'Compare the books as they are');
    expect(await refusalOf(service.transfers.create({ type: 'unload', card_id: 'balance', amount: 1 }))).toMatchObject({
      Code: 'service_disabled',
    });
    expect(await cutOver(await compare(programId, whole))).toMatchObject({ status: 'cut_over' });
  });

  test('is refused if the cards or holds are others, even if their numbers and sums are the same', async () => {
    const cards: readonly Card[] = [
      { card_id: 'empty', balance: 0 },
      { card_id: 'held', balance: 100, holds: [{ amount: 40, reference: 'first' }] },
      { card_id: 'other', balance: 100 },
    ];
    const programId = await moveIn(cards);
    const moved = await addLines(programId, [{ kind: 'card', card_id: 'x', balance: 5 }]);
    const service = inProgram(programId);
    await disable(programId);
    const inFile = new Map([...cards, { card_id: 'x', balance: 5 }].map((one) => [one.card_id, one]));
    const refuseAfter = async (change: () => Promise<unknown>, message: string) => {
      const compared = await compare(programId, [...inFile.values()]);
      expect(compared.status).toBe('equal');
      await change();
      const refusal = await refusalOf(cutOver(compared));
      expect(refusal).toMatchObject({ Code: 'cut_over_refused', Message: expect.stringContaining(message) });
    };
    const [held] = (await service.cards.holds('held')).data;
    const hold = { kind: 'hold', amount: 40, expires_at: inDays(5) };
    await refuseAfter(
      () =>
        addLines(programId, [
          { kind: 'release', card_id: 'held', transfer_id: held?.transfer_id },
          { ...hold, card_id: 'held', reference: 'second' },
        ]),
      'Cards have changed',
    );
    inFile.set('held', { card_id: 'held', balance: 100, holds: [{ amount: 40, reference: 'second' }] });
    await refuseAfter(async () => {
      await service.cards.update('empty', { status: 'closed' });
      await service.cards.create({ card_id: 'new' });
    }, 'Cards have changed');
    inFile.delete('empty');
    inFile.set('new', { card_id: 'new', balance: 0 });
    await refuseAfter(async () => {
      await patiently(() => client().moveIns.undo(moved, { note: 'The wrong card.' }));
      await addLines(programId, [{ kind: 'card', card_id: 'y', balance: 7 }]);
    }, 'Cards have changed');
    inFile.delete('x');
    inFile.set('y', { card_id: 'y', balance: 7 });
    await refuseAfter(() => service.cards.update('other', { status: 'lost' }), 'Cards have changed');
    const about = { program_id: programId, name: 'keys', sha256: sha256(), as_of: '2026-01-31T09:30:00Z' };
    const totals = [{ currency: 'USD', cards: 0, balance: 0, holds: 0, held: 0 }];
    const { move_in_id: id } = await client().moveIns.create({ ...about, line_count: 2, totals });
    const keep = (first: number) =>
      patiently(() =>
        client().moveIns.addLines(id, {
          first_line: first,
          lines: [{ kind: 'transfer', card_id: 'y', reference: `old-${first}` }],
        }),
      );
    await refuseAfter(() => keep(1), `Only a part of the lines of the move-in ${id} has taken effect`);
    await keep(2);
    expect(await cutOver(await compare(programId, [...inFile.values()]))).toMatchObject({ status: 'cut_over' });
  });
});
