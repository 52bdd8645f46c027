import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { toWireId } from '../../../domain/identifier.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import type { LineOutcome } from '../../../domain/processors/settlement.ts';
import { startAnnouncingBreaks, startFindingMissing } from '../../../server/background/processors/find-missing.ts';
import { answered, report, stepFor } from '../../fixtures/processors.ts';
import { Random } from '../../harness/random.ts';
import { type Line, lineOf, refusal, type Status, useSettlements } from './settlements.ts';

const { ledger, client, createFile, add, show, withdraw, runJob, match, settle, breaksOf, attempt, cutConnections } =
  await useSettlements();

/**
 * The number of random files. A full run uses a thousand:
 * `SETTLEMENT_FILES=1000 npx vitest run test/api/processors/settlement`.
 */
const FILES = Number(process.env.SETTLEMENT_FILES ?? 12);
const SEED = Number(process.env.SETTLEMENT_SEED ?? 20_261_130);

describe('importing a file', () => {
  const LINES = [1, 2, 3, 4].map((index) => ({
    attempt_id: `unknown-${index}`,
    kind: index % 2 === 0 ? 'pull' : 'push',
    amount: index * 100,
    currency: 'USD',
    fee: index,
    settled_on: '2026-11-30',
  }));

  test('accepts each line once and in order, and accepts the same file once', async () => {
    const { file_id: fileId, ...created } = await createFile(LINES, { name: 'once.csv' });
    expect(created).toMatchObject({ status: 'receiving', line_count: 4, lines_received: 0, created_by: 'sandbox' });
    expect(await createFile(LINES, { name: 'once.csv' })).toMatchObject({ file_id: fileId });
    expect(await refusal(add(fileId, 2, LINES))).toEqual({
      code: 'add_settlement_lines_schema',
      message: 'The next line of the file is 1, and you sent lines from 2 on.',
      field: '/first_line',
    });
    expect(await add(fileId, 1, LINES.slice(0, 3))).toMatchObject({ status: 'receiving', lines_received: 3 });
    expect(await add(fileId, 1, LINES.slice(0, 3))).toMatchObject({ lines_received: 3 });
    expect(await refusal(add(fileId, 4, LINES))).toMatchObject({ field: '/lines' });
    expect(await add(fileId, 2, LINES.slice(1))).toMatchObject({ status: 'matching', lines_received: 4 });
    expect((await show(fileId)).totals).toEqual([{ currency: 'USD', pushed: 400, pulled: 600, reversed: 0, fees: 10 }]);
    await match();
    expect(await show(fileId)).toMatchObject({
      status: 'matched',
      lines_examined: 4,
      matched_at: expect.any(String),
      outcomes: { matched: 0, reported: 0, differs: 0, duplicate: 0, missing_in_ledger: 4 },
    });
  });

  test.each([
    ['a line that is not an object', 'x', '', 'Line 1 must be an object.'],
    [
      'a line that names no order',
      { attempt_id: undefined },
      '',
      "Line 1 needs 'attempt_id' or 'processor_reference'.",
    ],
    ['an unknown field', { card: '1' }, '/card', "Line 1: There is no field 'card'."],
    ['a negative amount', { amount: -5 }, '/amount', "Line 1: 'amount'"],
    ['a fraction', { amount: 10.5 }, '/amount', "Line 1: 'amount'"],
    ['another direction', { kind: 'credit' }, '/kind', "Line 1: 'kind'"],
    ['an unknown currency', { currency: 'XYZ' }, '/currency', "Line 1: 'XYZ' is not an ISO 4217 currency code."],
    ['a date that does not exist', { settled_on: '2026-02-30' }, '/settled_on', "Line 1: 'settled_on'"],
    ['a negative fee', { fee: -1 }, '/fee', "Line 1: 'fee'"],
  ])('refuses %s, names the line and the field, and stores nothing', async (_name, change, field, message) => {
    const [first] = LINES;
    const bad =
      typeof change === 'string'
        ? change
        : Object.fromEntries(Object.entries({ ...first, ...change }).filter(([, value]) => value !== undefined));
    const { file_id: fileId } = await createFile([{ bad }]);
    expect(await refusal(add(fileId, 1, [bad]))).toEqual({
      code: 'add_settlement_lines_schema',
      message: expect.stringContaining(message),
      field: `/lines/0${field}`,
    });
    expect(await show(fileId)).toMatchObject({ lines_received: 0 });
  });

  test('redacts card numbers in references, because the processor writes them', async () => {
    const lines = [{ ...LINES[0], attempt_id: undefined, processor_reference: '4111 1111 1111 1111' }];
    const sent = lines.map((line) => JSON.parse(JSON.stringify(line)));
    const { file_id: fileId } = await createFile(sent);
    await add(fileId, 1, sent);
    const { rows } = await client.query('select processor_reference from settlement_line where file_id::text = $1', [
      fileId.replace(/^stl_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    ]);
    expect(rows).toEqual([{ processor_reference: expect.not.stringContaining('1111 1111') }]);
    await match();
  });

  test('refuses more lines for a withdrawn file, and accepts the same file as a new one', async () => {
    const { file_id: fileId } = await createFile(LINES, { name: 'withdrawn.csv' });
    expect(await withdraw(fileId)).toMatchObject({
      status: 'withdrawn',
      withdrawn_by: 'sandbox',
      note: 'The wrong file.',
    });
    expect(await withdraw(fileId, 'Again.')).toMatchObject({ note: 'The wrong file.' });
    expect(await refusal(add(fileId, 1, LINES))).toMatchObject({ code: 'settlement_file_withdrawn' });
    expect(await createFile(LINES, { name: 'withdrawn.csv' })).not.toMatchObject({ file_id: fileId });
  });
});

/**
 * A plan for one attempt in a random file: its initial status, its lines, their outcomes, and the break that must
 * result.
 */
type Plan = {
  readonly status: Status | 'none';
  /** More attempts with the same reference, in the same direction. */
  readonly batch?: readonly Status[];
  readonly lines: (about: Attempt) => readonly Line[];
  readonly outcomes: readonly LineOutcome[];
  readonly found?: readonly (readonly [kind: string, stated: number | null])[];
};

const MISSING = 'in no file';

/** One line about all attempts that have the reference of one. */
const inOneSum = (amount: number) => (about: Attempt) => {
  const { attempt_id: _, ...line } = lineOf(about, { processor_reference: about.processorReference, amount });
  return [line];
};

/** The break of a line about several attempts that settles none. The attempts are not missing, because the line names them. */
const REFUSED = [['missing_in_ledger', null]] as const;

const PLANS: Readonly<Record<string, Plan>> = {
  [MISSING]: { status: 'approved', lines: () => [], outcomes: [], found: [['missing_in_file', 0]] },
  matched: { status: 'approved', lines: (about) => [lineOf(about)], outcomes: ['matched'] },
  'matched by their reference': {
    status: 'approved',
    lines: (about) => {
      const { attempt_id: _, ...line } = lineOf(about, { processor_reference: about.processorReference });
      return [line];
    },
    outcomes: ['matched'],
  },
  'settled while its outcome was unknown': {
    status: 'sent',
    lines: (about) => [lineOf(about)],
    outcomes: ['reported'],
  },
  'settled after it was declined': {
    status: 'declined',
    lines: (about) => [lineOf(about)],
    outcomes: ['reported'],
    found: [['late_approval', 1000]],
  },
  'another amount': {
    status: 'approved',
    lines: (about) => [lineOf(about, { amount: 900 })],
    outcomes: ['differs'],
    found: [['contradiction', 900]],
  },
  'another currency': {
    status: 'approved',
    lines: (about) => [lineOf(about, { currency: 'EUR' })],
    outcomes: ['differs'],
    found: [['contradiction', null]],
  },
  'the other direction': {
    status: 'approved',
    lines: (about) => [lineOf(about, { kind: about.kind === 'push' ? 'pull' : 'push' })],
    outcomes: ['differs'],
    found: [['contradiction', -1000]],
  },
  reversed: {
    status: 'approved',
    lines: (about) => [lineOf(about), lineOf(about, { status: 'reversed' })],
    outcomes: ['matched', 'reported'],
    found: [['contradiction', 0]],
  },
  duplicate: {
    status: 'approved',
    lines: (about) => [lineOf(about), lineOf(about)],
    outcomes: ['matched', 'duplicate'],
    found: [['duplicate', null]],
  },
  'three times': {
    status: 'approved',
    lines: (about) => [lineOf(about), lineOf(about), lineOf(about)],
    outcomes: ['matched', 'duplicate', 'duplicate'],
    found: [['duplicate', null]],
  },
  'settled twice while its outcome was unknown': {
    status: 'sent',
    lines: (about) => [lineOf(about), lineOf(about)],
    outcomes: ['reported', 'duplicate'],
    found: [['duplicate', null]],
  },
  'settled twice after it was declined': {
    status: 'declined',
    lines: (about) => [lineOf(about), lineOf(about)],
    outcomes: ['reported', 'duplicate'],
    found: [
      ['late_approval', 1000],
      ['duplicate', null],
    ],
  },
  'settled after it was declined, then reversed': {
    status: 'declined',
    lines: (about) => [lineOf(about), lineOf(about, { status: 'reversed' })],
    outcomes: ['reported', 'reported'],
    found: [
      ['late_approval', 1000],
      ['contradiction', 0],
    ],
  },
  'reversed, then settled': {
    status: 'approved',
    lines: (about) => [lineOf(about, { status: 'reversed' }), lineOf(about)],
    outcomes: ['reported', 'reported'],
    found: [['contradiction', 1000]],
  },
  'settled with another amount, then with the right one': {
    status: 'sent',
    lines: (about) => [lineOf(about, { amount: 900 }), lineOf(about)],
    outcomes: ['differs', 'reported'],
    found: [['contradiction', 1000]],
  },
  'reversed before it was settled': {
    status: 'declined',
    lines: (about) => [lineOf(about, { status: 'reversed' }), lineOf(about)],
    outcomes: ['matched', 'reported'],
    found: [['late_approval', 1000]],
  },
  'several in one sum': {
    status: 'approved',
    batch: ['approved', 'approved'],
    lines: inOneSum(3000),
    outcomes: ['matched'],
  },
  'several in one sum, one of them unknown': {
    status: 'approved',
    batch: ['unknown'],
    lines: inOneSum(2000),
    outcomes: ['reported'],
  },
  'several in another sum': {
    status: 'approved',
    batch: ['approved'],
    lines: inOneSum(2001),
    outcomes: ['missing_in_ledger'],
    found: REFUSED,
  },
  'several in one sum, one of them declined': {
    status: 'approved',
    batch: ['declined'],
    lines: inOneSum(2000),
    outcomes: ['missing_in_ledger'],
    found: REFUSED,
  },
  'several in one sum, without one that was declined': {
    status: 'approved',
    batch: ['declined', 'unknown'],
    lines: inOneSum(2000),
    outcomes: ['reported'],
  },
  'one of several that have no reference yet': {
    status: 'approved',
    lines: inOneSum(2000),
    outcomes: ['missing_in_ledger'],
    found: REFUSED,
  },
  'several in one sum, twice': {
    status: 'approved',
    batch: ['approved'],
    lines: (about) => [...inOneSum(2000)(about), ...inOneSum(2000)(about)],
    outcomes: ['matched', 'missing_in_ledger'],
    found: [['missing_in_ledger', null]],
  },
  'several in one sum, after one of them': {
    status: 'approved',
    batch: ['approved'],
    lines: (about) => [lineOf(about), ...inOneSum(2000)(about)],
    outcomes: ['matched', 'missing_in_ledger'],
    found: REFUSED,
  },
  unknown: {
    status: 'none',
    lines: () => [
      {
        attempt_id: `pat_${randomUUID().replaceAll('-', '')}`,
        kind: 'pull',
        amount: 700,
        currency: 'EUR',
        settled_on: '2026-11-30',
      },
    ],
    outcomes: ['missing_in_ledger'],
    found: [['missing_in_ledger', null]],
  },
};

/** Returns the breaks about attempts, each with the amount that, according to the break, the processor has moved. */
async function foundBreaks(): Promise<readonly string[]> {
  const { rows } = await client.query<{
    readonly about: string;
    readonly kind: string;
    readonly stated: string | null;
  }>(
    'select coalesce(attempt_id::text, sent_attempt_id) as about, kind, stated_amount as stated from processor_break where closed_at is null',
  );
  return rows.map(({ about, kind, stated }) => `${about} ${kind} ${stated}`);
}

/** Makes these orders so old that they must be in a file, and finds those that are in none. */
async function findMissing(attemptIds: readonly string[]): Promise<void> {
  await client.query(
    `update settlement_file set created_at = now() - interval '100 hours'
      where file_id = (select min(file_id::text)::uuid from settlement_file where status = 'matched')`,
  );
  await client.query(
    "update processor_attempt set updated_at = now() - interval '49 hours' where attempt_id = any ($1)",
    [attemptIds],
  );
  // One statement inserts all breaks.
  const found = "select from processor_break where kind = 'missing_in_file' and attempt_id = any ($1)";
  await runJob(startFindingMissing, async () => (await client.query(found, [attemptIds])).rowCount !== 0);
}

/** Creates the attempts of a plan. The first one is what the plan is about. */
async function makeAttempts({ status, batch = [] }: Plan, type: 'load' | 'unload'): Promise<readonly Attempt[]> {
  if (status === 'none') return [];
  const reference = batch.length === 0 ? undefined : `batch-${randomUUID()}`;
  return Promise.all([status, ...batch].map((one) => attempt(one, type, reference)));
}

/** The breaks that a plan expects, as {@link foundBreaks} returns them. */
function breaksIn(
  [kind, stated]: readonly [kind: string, stated: number | null],
  [about]: readonly Attempt[],
  lines: readonly Line[],
): readonly string[] {
  const ofLine = lines.at(-1)?.attempt_id ?? about?.processorReference;
  return [`${kind === 'missing_in_ledger' ? ofLine : about?.attemptId} ${kind} ${stated}`];
}

test(
  `finds every planted difference of ${FILES} random files once, with its amount, and nothing else (seed ${SEED})`,
  async () => {
    // Orders can only be missing if an earlier file exists.
    await settle([lineOf(await attempt('approved'))]);
    for (let file = 0; file < FILES; file += 1) {
      const random = new Random(SEED, file);
      const before = new Set(await foundBreaks());
      // Every file lacks at least one order and has at least one line.
      const others = Array.from({ length: random.below(12) }, () => random.pick(Object.keys(PLANS)));
      const names = [MISSING, 'matched', ...others];
      const expected = new Map<LineOutcome, number>();
      const planted: string[] = [];
      const attempts: string[] = [];
      const queues = await Promise.all(
        names.map(async (name) => {
          const plan = PLANS[name];
          if (plan === undefined) throw new Error(`there is no plan ${name}`);
          const made = await makeAttempts(plan, random.chance(0.5) ? 'load' : 'unload');
          attempts.push(...made.map(({ attemptId }) => attemptId));
          const [about] = made;
          const lines = plan.lines(about as Attempt);
          for (const outcome of plan.outcomes) expected.set(outcome, (expected.get(outcome) ?? 0) + 1);
          for (const found of plan.found ?? []) planted.push(...breaksIn(found, made, lines));
          return [...lines];
        }),
      );
      // The lines of one attempt stay in order.
      const lines: Line[] = [];
      while (queues.some((queue) => queue.length > 0)) {
        const next = random.pick(queues.filter((queue) => queue.length > 0)).shift();
        if (next !== undefined) lines.push(next);
      }
      const found = await settle(lines);
      await findMissing(attempts);
      expect(
        Object.entries(found.outcomes)
          .filter(([, count]) => count > 0)
          .sort(),
      ).toEqual([...expected].sort());
      const after = (await foundBreaks()).filter((one) => !before.has(one));
      expect(after.sort(), `file ${file}`).toEqual(planted.sort());
      const { rows } = await client.query("select from processor_attempt where status not in ('approved', 'declined')");
      expect(rows).toEqual([]);
    }
  },
  60_000 + FILES * 2_000,
);

/** Writes the events of all new breaks, in two processes. */
const announce = (meanwhile?: () => Promise<void>): Promise<void> =>
  runJob(
    startAnnouncingBreaks,
    async () =>
      (await client.query('select from processor_break where closed_at is null and announced_at is null')).rowCount ===
      0,
    meanwhile,
  );

/** Returns the data of the events about these records. */
const eventsOf = async (type: string, ids: readonly string[]): Promise<readonly { readonly break_id: string }[]> => {
  const text = 'select payload from event where type = $1 and subject_id = any ($2) and program_id is null';
  return (await client.query(text, [type, ids])).rows.map(({ payload }) => JSON.parse(payload));
};

const byId = (left: { readonly break_id: string }, right: { readonly break_id: string }): number =>
  left.break_id < right.break_id ? -1 : 1;

test('counts every line once while connections are cut and two processes compare the same file', async () => {
  const attempts = await Promise.all(
    Array.from({ length: 60 }, (_, index) => attempt(index % 3 === 0 ? 'declined' : 'approved')),
  );
  const lines = attempts.flatMap((about, index) =>
    index % 5 === 0 ? [lineOf(about), lineOf(about)] : [lineOf(about)],
  );
  const { file_id: fileId } = await createFile(lines);
  await add(fileId, 1, lines);
  const before = new Set(await foundBreaks());
  await match(cutConnections);
  const { response: _, ...file } = Object(await show(fileId));
  expect(await eventsOf('settlement.matched', [fileId])).toEqual([file]);
  const { outcomes, lines_examined: examined } = file;
  const duplicates = lines.length - attempts.length;
  const declined = attempts.filter(({ status }) => status === 'declined').length;
  expect(examined).toBe(lines.length);
  expect(outcomes).toMatchObject({ reported: declined, matched: attempts.length - declined, duplicate: duplicates });
  const after = (await foundBreaks()).filter((one) => !before.has(one));
  expect(after).toHaveLength(declined + duplicates);
});

test('sends one event each time a break opens or reopens', async () => {
  const order = { ...lineOf(await attempt('approved')), attempt_id: `ours-${randomUUID()}` };
  const lines = Array.from({ length: 40 }, (_, index) => ({ ...order, attempt_id: `${order.attempt_id}-${index}` }));
  const { file_id: fileId } = await settle(lines);
  const opened = (await breaksOf('missing_in_ledger')).filter(({ found }) => found.includes(fileId));
  const ids = opened.map(({ break_id: id }) => id);
  await announce(cutConnections);
  const events = await eventsOf('break.opened', ids);
  expect(events.map((event) => ({ ...event, age_seconds: 0 })).sort(byId)).toEqual(
    opened.map((one) => ({ ...one, age_seconds: 0 })).sort(byId),
  );
  // This opens three of the breaks again, from another file.
  await withdraw(fileId);
  await match();
  await settle(lines.slice(0, 3));
  await announce();
  expect(await eventsOf('break.opened', ids)).toHaveLength(ids.length + 3);
});

test('stops counting a withdrawn file, and closes its breaks', async () => {
  const about = await attempt('approved');
  const lines = [lineOf(about), lineOf(about, { fee: 7 }), { ...lineOf(about), attempt_id: 'nothing-of-ours' }];
  const wrong = await settle(lines);
  expect(wrong.outcomes).toMatchObject({ matched: 1, duplicate: 1, missing_in_ledger: 1 });
  const id = toWireId('pat', about.attemptId);
  expect((await breaksOf('duplicate')).filter((one) => one.attempt_id === id)).toMatchObject([
    { amount: 1000, found: expect.stringContaining(`push of 10.00 USD (line 2 of ${wrong.file_id})`) },
  ]);
  const another = await settle([{ ...lineOf(about), attempt_id: 'nothing-of-ours-either' }]);
  const ofFile = await breaksOf('missing_in_ledger', { settlement_file_id: wrong.file_id });
  expect(ofFile.map(({ settlement_lines: [line] }) => line)).toEqual([
    {
      ...{ file_id: wrong.file_id, line_number: 3, attempt_id: 'nothing-of-ours', processor_reference: null },
      ...{ kind: 'push', amount: 1000, currency: 'USD', fee: 0, status: 'settled', settled_on: '2026-11-30' },
      settled_attempt_ids: [],
    },
  ]);
  const [twice] = await breaksOf('duplicate', { settlement_file_id: wrong.file_id });
  expect(twice?.settlement_lines).toMatchObject([{ line_number: 2, attempt_id: id, fee: 7 }]);
  const break_id = twice?.break_id ?? '';
  expect(JSON.parse((await ledger.call('get_break', {}, { params: { break_id } })).body)).toMatchObject({
    settlement_lines: twice?.settlement_lines,
  });
  await withdraw(another.file_id);
  await withdraw(wrong.file_id);
  await match();
  expect(await show(wrong.file_id)).toMatchObject({ status: 'withdrawn' });
  expect((await breaksOf('duplicate')).filter((one) => one.attempt_id === id)).toEqual([]);
  expect((await breaksOf('missing_in_ledger')).filter(({ found }) => found.includes(wrong.file_id))).toEqual([]);
  expect((await settle(lines)).outcomes).toMatchObject({ matched: 1, duplicate: 1, missing_in_ledger: 1 });
  const [again] = (await breaksOf('duplicate')).filter((one) => one.attempt_id === id);
  // The file cannot show whether the money moved twice.
  expect(again).toMatchObject({ amount: 1000, bookings: [], found: expect.not.stringContaining(wrong.file_id) });
});

test('keeps a break open if only one of the two files that caused it is withdrawn', async () => {
  const line = {
    kind: 'push',
    amount: 700,
    currency: 'USD',
    settled_on: '2026-11-30',
    attempt_id: `ours-${randomUUID()}`,
  };
  const first = await settle([line]);
  const second = await settle([line, { ...line, attempt_id: 'another' }]);
  await withdraw(second.file_id);
  await match();
  const about = (await breaksOf('missing_in_ledger')).filter(({ found }) => found.includes(first.file_id));
  expect(about).toMatchObject([
    {
      amount: 700,
      found: expect.stringContaining(second.file_id),
      settlement_lines: [
        { file_id: first.file_id, line_number: 1 },
        { file_id: second.file_id, line_number: 1 },
      ],
    },
  ]);
});

test('matches no attempt if several have the reference or if the reference was redacted', async () => {
  for (const processorReference of ['[redacted]', `shared-${randomUUID()}`]) {
    for (let made = 0; made < 2; made += 1) {
      const ready = await attempt('sent');
      await report(ledger, ready, stepFor(ready, 'notice', answered('approved', { processorReference })));
    }
    const sent = processorReference === '[redacted]' ? '4111111111111111' : processorReference;
    const line = { kind: 'push', amount: 1000, currency: 'USD', settled_on: '2026-11-30', processor_reference: sent };
    expect((await settle([line])).outcomes).toMatchObject({ missing_in_ledger: 1, matched: 0 });
  }
});

test('turns a line about an attempt that is being reversed into a break, because an approval does not end such an attempt', async () => {
  const about = await attempt('sent');
  await client.query(
    "update processor_attempt set status = 'reversing', sent_at = now(), next_at = now() + interval '1 hour' where attempt_id = $1",
    [about.attemptId],
  );
  expect((await settle([lineOf(about)])).outcomes).toMatchObject({ reported: 1 });
  const data = await breaksOf('contradiction');
  expect(data.filter((one) => one.attempt_id === toWireId('pat', about.attemptId))).toMatchObject([
    { expected: 'reversing', found: expect.stringContaining('push of 10.00 USD') },
  ]);
});
