import { randomUUID } from 'node:crypto';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { MAXIMUM_AMOUNT } from '../../domain/ledger/money.ts';
import type { TransferService } from '../../sdk/client.ts';
import { patiently } from '../harness/client/patience.ts';
import { type Attempt, about, atField, byPrepared } from './real-cause.ts';

/** Invalid bodies. `operation-causes.ts` also sends null for each required field of every operation. */
export const MOVE_IN_BODIES = {
  create_move_in: [
    { as_of: '2100-01-01T00:00:00Z' },
    { totals: [] },
    { totals: [{ currency: 'USD' }] },
    { totals: [{ currency: 'XXY', cards: 1, balance: 1, holds: 0, held: 0 }] },
    { totals: [{ currency: 'USD', cards: 1, balance: -1, holds: 0, held: 0 }] },
  ],
  add_move_in_lines: [
    ...[
      'x',
      { kind: 'card', card_id: 'a' },
      { kind: 'card', card_id: 'a', balance: -1 },
      { kind: 'card', card_id: 'a', balance: 1, currency: 'XXY' },
      { kind: 'card', card_id: 'a', balance: 1, amount: 1 },
      { kind: 'card', card_id: 'a', balance: 1, status: 'closed' },
      { kind: 'card', card_id: `card_${'0'.repeat(32)}`, balance: 1 },
      { kind: 'hold', card_id: 'a', amount: 1 },
      { kind: 'hold', card_id: 'a', amount: 1, expires_at: '2100-01-01T00:00:00Z' },
      { kind: 'hold', card_id: 'a', expires_at: '2026-01-01T00:00:00Z' },
      { kind: 'transfer', card_id: 'a' },
      { kind: 'change', card_id: 'a', balance: 1 },
      { kind: 'change', card_id: 'a', balance: 1, balance_before: 1 },
      { kind: 'release', card_id: 'a' },
    ].map((line) => ({ lines: [line] })),
  ],
  create_comparison: [{ as_of: '2100-01-01T00:00:00Z' }, { card_count: 0 }],
  add_compared_cards: [
    ...[
      'x',
      { card_id: 'a' },
      { card_id: 'a', balance: -1 },
      { card_id: 'a', balance: 1, currency: 'XXY' },
      { card_id: 'a', balance: 1, status: 'closed' },
      { card_id: 'a', balance: 1, holds: [{}] },
      { card_id: 'a', balance: 1, holds: [{ amount: 1, expires_at: '2030-01-31' }] },
    ].map((card) => ({ cards: [card] })),
  ],
} satisfies Readonly<Record<string, readonly object[]>>;

const toCard = (name: string, balance = 100) => ({ kind: 'card', card_id: name, balance });
const toHold = (name: string, amount: number, more: object = {}) => ({
  ...{ kind: 'hold', card_id: name, amount, expires_at: new Date(Date.now() + 5 * 86_400_000).toISOString() },
  ...more,
});

async function newMoveIn(client: TransferService, lineCount: number): Promise<string> {
  const sha256 = `${randomUUID()}${randomUUID()}`.replaceAll('-', '');
  const about = { program_id: DEMO_PROGRAM, name: 'cards', sha256, as_of: '2026-01-31T09:30:00Z' };
  return (await client.moveIns.create({ ...about, line_count: lineCount })).move_in_id;
}

/** Returns a request with lines that must be refused, after `before` have taken effect. */
async function refused(
  client: TransferService,
  field: string,
  lines: object[],
  before: object[] = [],
): Promise<Attempt> {
  const id = await newMoveIn(client, 10_000);
  if (before.length > 0) await client.moveIns.addLines(id, { first_line: 1, lines: before as never });
  return atField(field, about('add_move_in_lines', id, { first_line: before.length + 1, lines: [...lines] }));
}

/** Causes of codes that other operations return, too. */
export const MOVE_IN_CAUSES = {
  duplicate_card: byPrepared('duplicate_card', async (client) => [
    await refused(client, '/lines/0/card_id', [toCard('card_active')]),
    await refused(client, '/lines/1/card_id', [toCard('twice'), toCard('twice')]),
  ]),
  card_not_found: byPrepared('card_not_found', async (client) => [
    await refused(client, '/lines/0/card_id', [toHold('no-such-card', 1), toCard('no-such-card')]),
  ]),
  insufficient_funds: byPrepared('insufficient_funds', async (client) => {
    const name = randomUUID();
    return [await refused(client, '/lines/1/amount', [toHold(name, 60), toHold(name, 41)], [toCard(name)])];
  }),
  duplicate_reference: byPrepared('duplicate_reference', async (client) => {
    const [one, other] = [randomUUID(), randomUUID()];
    const [hold, again] = [toHold(one, 1, { reference: one }), toHold(other, 1, { reference: other })];
    return [
      await refused(client, '/lines/1/reference', [hold, hold], [toCard(one)]),
      await refused(client, '/lines/0/reference', [again], [toCard(other), again]),
    ];
  }),
  /** No account can have more than 2^53 - 1, and the opening balances of a program come from one account. */
  limit_exceeded: byPrepared('limit_exceeded', async (client) => {
    const { program_id: programId } = await client.programs.create({ name: 'Rich', currency: 'USD' });
    const sha256 = `${randomUUID()}${randomUUID()}`.replaceAll('-', '');
    const { move_in_id: id } = await client.moveIns.create({
      ...{ program_id: programId, name: 'rich', sha256, as_of: '2026-01-31T09:30:00Z', line_count: 10_000 },
    });
    const lines = (first: number) =>
      Array.from({ length: 1000 }, (_, index) => toCard(`rich-${first + index}`, Number(MAXIMUM_AMOUNT)));
    for (let first = 1; first <= 9000; first += 1000) {
      await patiently(() => client.moveIns.addLines(id, { first_line: first, lines: lines(first) as never }));
    }
    return [atField('/lines/7/balance', about('add_move_in_lines', id, { first_line: 9001, lines: lines(9001) }))];
  }),
};
