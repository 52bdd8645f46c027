import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fromWireId } from '../../domain/identifier.ts';
import { Stage } from '../processors/stage.ts';
import { killUntil, type Query, type Step, type Victim, WriteGates } from './write-gates.ts';

// Kills the service or PostgreSQL before every write of a move-in and of its undo, and compares the books with those of a run without
// kills.

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
  'cancel a hold': updated('transfer', "new.status = 'canceled'"),
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

async function undo({ programId }: Run): Promise<void> {
  const { data } = await stage.read((client) => client.moveIns.list({ program_id: programId }));
  for (let status = ''; status !== 'undone'; ) {
    ({ status } = (await stage.post(`${PATH}/${data[0]?.move_in_id}/undo`, { note: 'The wrong file.' })) as {
      status: string;
    });
  }
}

/** Everything that the move-in has changed, without ids and times. */
async function outcome({ programId }: Run): Promise<unknown> {
  const ask = (text: string) => query(text, [fromWireId('prog', programId)]);
  return {
    moveIns: await ask(
      'select status, line_count, lines_received, lines_undone, totals from move_in where program_id = $1',
    ),
    lines: await ask(
      `select line_number, name, amount, transfer_id is null as is_card
        from move_in_line join card using (program_id, card_id) where program_id = $1 order by line_number`,
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
      "select action, count(*) from audit_entry where program_id = $1 and action like '%move_in%' group by 1 order by 1",
    ),
  };
}

const expected: unknown[] = [];

test('moves cards in, and undoes it', async () => {
  const run = await newRun();
  await moveIn(run);
  expected.push(await outcome(run));
  await undo(run);
  expected.push(await outcome(run));
  expect(expected).toMatchObject([
    { moveIns: [{ status: 'moved', lines_received: LINES.length }] },
    { moveIns: [{ status: 'undone', lines_undone: LINES.length, totals: {} }], holds: [] },
  ]);
});

test.each<Victim>(['service', 'PostgreSQL'])(
  'has the same books if %s is killed before every write',
  { timeout: 900_000 * ROUNDS },
  async (victim) => {
    for (let round = 1; round <= ROUNDS; round += 1) {
      const run = await newRun();
      await gates.closeAll();
      await killUntil(moveIn(run), victim, { stage, gates });
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
