import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fromWireId } from '../../domain/identifier.ts';
import { Stage } from '../processors/stage.ts';
import { killUntil, type Query, type Step, type Victim, WriteGates } from './write-gates.ts';

// Kills the service or PostgreSQL before every write of a move-in, of a comparison, of the cut-over and of the undo, and compares the
// books with those of a run without kills.

/** How often each write is interrupted. A full run: `MOVE_IN_KILLS=20 npx vitest run test/crashes/move-in-kills`. */
const ROUNDS = Number(process.env.MOVE_IN_KILLS ?? 1);

let stage: Stage;
let gates: WriteGates;
beforeAll(async () => {
  stage = await Stage.open();
  gates = await WriteGates.create(query, STEPS);
});
afterAll(() => stage?.end());

const query: Query = (text, values) => stage.query(text, values);

const inserted = (table: string, when = 'true'): Step => ({ table, on: 'insert', when });
const updated = (table: string, when: string, more: object = {}): Step => ({ table, on: 'update', when, ...more });

const STEPS: Readonly<Record<string, Step>> = {
  'create the move-in': inserted('move_in'),
  'create an account': inserted('account', "new.kind = 'card'"),
  'create a card': inserted('card'),
  'give a card its balance': inserted('posting', "new.purpose = 'opening' and new.source_balance < 0"),
  'create the transfer of a hold': inserted('transfer'),
  'hold money': inserted('hold'),
  'count a hold': inserted('limit_counter'),
  'change an account': updated('account', 'new.sequence >= old.sequence'),
  'store a line': inserted('move_in_line'),
  'count lines': updated('move_in', 'new.lines_received > old.lines_received'),
  'commit the last lines': updated('move_in', "new.status = 'moved'", { atCommit: true }),
  'create a comparison': inserted('comparison'),
  'store a difference': inserted('comparison_difference'),
  'count compared cards': updated('comparison', 'new.cards_received > old.cards_received'),
  'commit the last compared cards': updated('comparison', "new.status = 'equal'", { atCommit: true }),
  'change a balance': inserted('posting', "new.purpose = 'opening' and new.source_balance > 0"),
  'release a hold': updated('transfer', "new.status = 'canceled' and new.reference = 'hold 1'"),
  'keep a key': inserted('idempotency', 'new.status = 409'),
  'sign the report': updated('comparison', "new.status = 'cut_over'"),
  'enable transfers': updated('switch', 'not new.disabled'),
  'commit the cut-over': updated('comparison', "new.status = 'cut_over'", { atCommit: true }),
  'cancel a hold': updated('transfer', "new.status = 'canceled' and new.reference <> 'hold 1'"),
  'close a card': updated('card', "new.status = 'closed'"),
  'take a balance back': inserted('posting', "new.purpose = 'opening' and new.source_balance = 0"),
  'count undone lines': updated('move_in', 'new.lines_undone > old.lines_undone'),
  'commit the undo': updated('move_in', "new.status = 'undone'", { atCommit: true }),
};

const PATH = '/api/v0.1/operator/move-in';

const LINES = Array.from({ length: 12 }, (_, index) => {
  const name = `card-${index - (index % 3)}`;
  if (index % 3 === 1)
    return { kind: 'hold', card_id: name, amount: 10, expires_at: inDays(5), reference: `hold ${index}` };
  if (index % 3 === 2) return { kind: 'hold', card_id: name, amount: 5, expires_at: inDays(9) };
  return { kind: 'card', card_id: name, balance: 100 * (index + 1), metadata: { line: String(index) } };
});

function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}

/** The cards of the old ledger on the day: the first hold was released there, and one balance is another one. */
const CARDS_THERE = LINES.flatMap(({ kind, card_id: name, balance = 0 }) => {
  if (kind !== 'card') return [];
  const holds = LINES.flatMap((line) =>
    line.kind === 'hold' && line.card_id === name && line.reference !== 'hold 1'
      ? [{ amount: line.amount, ...(line.reference !== undefined && { reference: line.reference }) }]
      : [],
  );
  return [{ card_id: name, balance: name === 'card-3' ? balance - 50 : balance, holds }];
});

type Run = { readonly programId: string; readonly sha256: string };

async function newRun(): Promise<Run> {
  const { program_id: programId } = await stage.service.client.programs.create({ name: 'Killed', currency: 'USD' });
  return { programId, sha256: createHash('sha256').update(randomUUID()).digest('hex') };
}

/** Moves the cards in as the command line does, and repeats what a kill has interrupted. */
async function moveIn({ programId, sha256 }: Run): Promise<void> {
  const about = { program_id: programId, name: 'cards.ndjson', sha256, as_of: '2026-01-31T09:30:00Z' };
  const { move_in_id: id } = await stage.post(PATH, { ...about, line_count: LINES.length });
  for (let first = 1; first <= LINES.length; first += 4) {
    await stage.post(`${PATH}/${id}/line`, { first_line: first, lines: LINES.slice(first - 1, first + 3) });
  }
}

const COMPARISON_PATH = '/api/v0.1/operator/comparison';

async function compare({ programId, sha256 }: Run) {
  const about = { program_id: programId, name: 'cards.csv', sha256, card_count: CARDS_THERE.length };
  let record = await stage.post(COMPARISON_PATH, about);
  while (record.status === 'comparing') {
    const received = Number(record.cards_received);
    const body = { first_card: received + 1, cards: CARDS_THERE.slice(received, received + 3) };
    record = await stage.post(`${COMPARISON_PATH}/${record.comparison_id}/card`, body);
  }
  return { id: String(record.comparison_id), status: record.status };
}

/** Compares, moves the differences in, compares again, and cuts over, as the command line does. */
async function cutOver(run: Run): Promise<void> {
  const { programId: program_id } = run;
  await stage.post('/api/v0.1/operator/switch', { program_id, disabled: true, reason: 'Cut-over' });
  const { id } = await compare(run);
  const { data } = await stage.read((client) => client.comparisons.differences(id));
  const lines = data.map(({ card_id, reason, here, there, transfer_id }) =>
    reason === 'hold_released_there'
      ? { kind: 'release', card_id, transfer_id }
      : { kind: 'change', card_id, balance_before: here, balance: there },
  );
  const kept = { kind: 'transfer', card_id: 'card-6', reference: 'old', idempotency_key: 'old-key' };
  const sha256 = createHash('sha256').update(run.sha256).digest('hex');
  const about = { program_id, name: 'delta', sha256, as_of: '2026-01-31T09:30:00Z', line_count: lines.length + 1 };
  const { move_in_id: delta } = await stage.post(PATH, about);
  await stage.post(`${PATH}/${delta}/line`, { first_line: 1, lines: [...lines, kept] });
  const { id: equal } = await compare(run);
  await stage.post(`${COMPARISON_PATH}/${equal}/cut-over`, { note: 'Checked by finance.' });
}

/** Undoes the move-ins, the newest first. */
async function undo({ programId }: Run): Promise<void> {
  const { data } = await stage.read((client) => client.moveIns.list({ program_id: programId }));
  for (const { move_in_id: id } of data) {
    let status: unknown;
    while (status !== 'undone') {
      ({ status } = await stage.post(`${PATH}/${id}/undo`, { note: 'The wrong file.' }));
    }
  }
}

/** Everything that the move-in has changed, without ids and times. */
async function outcome({ programId }: Run): Promise<unknown> {
  const ask = (text: string) => query(text, [fromWireId('prog', programId)]);
  return {
    moveIns: await ask(
      'select status, line_count, lines_received, lines_undone, totals from move_in where program_id = $1 order by move_in_id',
    ),
    comparisons: await ask(
      `select status, cards_received, difference_count, differing_cards, differences, totals_here, totals_there,
        books - 'fingerprints' as books
        from comparison where program_id = $1 order by comparison_id`,
    ),
    differences: await ask(
      `select number, card_name, reason, here, there, comparison_difference.reference, message
        from comparison_difference join comparison using (comparison_id) where program_id = $1 order by comparison_id, number`,
    ),
    switch: await ask('select disabled, transfer_type from switch where program_id = $1'),
    keys: await ask('select status, code, message from idempotency where program_id = $1 and status = 409'),
    lines: await ask(
      `select line_number, name, amount, kind, reference, transfer_id is null as has_no_transfer, is_undone
        from move_in_line join card using (program_id, card_id) where program_id = $1 order by move_in_id, line_number`,
    ),
    cards: await ask(
      `select name, status, metadata, balance, held, incoming, sequence
        from card join account using (program_id, account_id) where card.program_id = $1 order by name`,
    ),
    others: await ask(
      `select kind, currency, balance, held, incoming, sequence from account
        where program_id = $1 and owner_id = $1 order by kind`,
    ),
    transfers: await ask(
      `select name, type, amount, transfer.status, reference from transfer join card using (program_id, card_id)
        where program_id = $1 order by name, amount`,
    ),
    holds: await ask('select amount, expires_at::date::text from hold where program_id = $1 order by 1, 2'),
    postings: await ask(
      'select purpose, amount, count(*) from posting where program_id = $1 group by 1, 2 order by 1, 2',
    ),
    counters: await ask(
      'select direction, amount, count, count(*) as times from limit_counter where program_id = $1 group by 1, 2, 3 order by 1, 2, 3',
    ),
    events: await ask('select type, count(*) from event where program_id = $1 group by 1 order by 1'),
    audited: await ask(
      `select action, count(*) from audit_entry where program_id = $1
        and (action like '%move_in%' or action in ('create_comparison', 'cut_over', 'change_switch')) group by 1 order by 1`,
    ),
  };
}

const expected: unknown[] = [];

test('moves cards in, cuts over, and undoes it', async () => {
  const run = await newRun();
  await moveIn(run);
  await cutOver(run);
  expected.push(await outcome(run));
  await undo(run);
  expected.push(await outcome(run));
  expect(expected).toMatchObject([
    {
      moveIns: [
        { status: 'moved', lines_received: LINES.length },
        { status: 'moved', lines_received: 3 },
      ],
      comparisons: [
        { status: 'different', difference_count: 2 },
        { status: 'cut_over', difference_count: 0 },
      ],
      switch: [{ disabled: false }],
      keys: [{ code: 'idempotency_key_exists' }],
    },
    {
      moveIns: [
        { status: 'undone', lines_undone: LINES.length, totals: {} },
        { status: 'undone', lines_undone: 3, totals: {} },
      ],
      holds: [],
    },
  ]);
});

test.each<Victim>(['service', 'PostgreSQL'])(
  'has the same books if %s is killed before every write',
  { timeout: 900_000 * ROUNDS },
  async (victim) => {
    for (let round = 1; round <= ROUNDS; round += 1) {
      const run = await newRun();
      await gates.closeAll();
      await killUntil(
        moveIn(run).then(() => cutOver(run)),
        victim,
        { stage, gates },
      );
      expect(await outcome(run)).toEqual(expected[0]);
      await killUntil(undo(run), victim, { stage, gates });
      expect(await gates.closed()).toEqual([]);
      expect(await outcome(run)).toEqual(expected[1]);
      const { balanced, differing_holds, differing_accounts } = await stage.read((client) => client.trialBalance.get());
      const right = { balanced: true, differing_holds: 0, differing_accounts: [] };
      expect({ balanced, differing_holds, differing_accounts }).toEqual(right);
    }
  },
);
