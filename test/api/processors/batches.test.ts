import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import type { DayRecord } from '../../../contract/days.ts';
import type { BreakRecord } from '../../../contract/processors/breaks.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import { startMatchingSettlements } from '../../../server/background/processors/match-settlements.ts';
import { waitFor } from '../../harness/process.ts';
import { bodyOf, type Line, lineOf, refusal, type Status, useSettlements } from './settlements.ts';

// Tests lines of settlement files that pay several orders in one sum.

const { ledger, client, runJob, createFile, add, show, withdraw, match, settle, breaksOf, attempt, cutConnections } =
  await useSettlements();

const wireId = ({ attemptId }: Pick<Attempt, 'attemptId'>): string => toWireId('pat', attemptId);

const newReference = (): string => `batch-${randomUUID()}`;

/** Creates orders of 10.00 USD with one reference. */
async function batch(reference: string, statuses: readonly Status[], type: 'load' | 'unload' = 'load') {
  const orders: Attempt[] = [];
  for (const status of statuses) orders.push(await attempt(status, type, reference));
  return orders;
}

const lineAbout = (reference: string, amount: number, more: object = {}): Line => ({
  processor_reference: reference,
  kind: 'push',
  amount,
  currency: 'USD',
  settled_on: '2026-11-30',
  ...more,
});

/** The marks of attempts in the order of their ids: the file, the fee and the status. */
async function marks(orders: readonly Pick<Attempt, 'attemptId'>[]) {
  const { rows } = await client.query<{ file: string | null; fee: string | null; status: string }>(
    `select settlement_file_id::text as file, settlement_fee as fee, status from processor_attempt
      where attempt_id = any ($1) order by attempt_id`,
    [orders.map(({ attemptId }) => attemptId)],
  );
  return rows.map(({ file, fee, status }) => ({ file: file === null ? null : toWireId('stl', file), fee, status }));
}

const UNMARKED = { file: null, fee: null };

/** Adds as many approved orders as copies of one, with the same reference. */
async function copy({ attemptId }: Attempt, count: number): Promise<readonly Pick<Attempt, 'attemptId'>[]> {
  const { rows } = await client.query<{ id: string }>(
    `insert into processor_attempt
      select (jsonb_populate_record(one, jsonb_build_object('attempt_id', gen_random_uuid(), 'transfer_id', gen_random_uuid()))).*
      from processor_attempt as one, generate_series(1, $2) where attempt_id = $1 returning attempt_id as id`,
    [attemptId, count],
  );
  return rows.map(({ id }) => ({ attemptId: id }));
}

const missing = async (reference: string) =>
  (await breaksOf('missing_in_ledger')).filter(({ found, expected }) => `${found}${expected}`.includes(reference));

const breakOf = async (fileId: string) =>
  (await breaksOf('missing_in_ledger')).filter(({ found }) => found.includes(fileId));

test('settles all orders that have the reference of a line and sum to its amount, and divides its fee among them', async () => {
  const reference = newReference();
  const orders = await batch(reference, ['approved', 'approved', 'approved']);
  const file = await settle([lineAbout(reference, 3000, { fee: 100 })]);
  expect(file.outcomes).toMatchObject({ matched: 1, missing_in_ledger: 0 });
  expect((await marks(orders)).map(({ file: id }) => id)).toEqual(orders.map(() => file.file_id));
  expect((await marks(orders)).map(({ fee }) => fee)).toEqual(['33', '33', '34']);
  expect(await missing(reference)).toEqual([]);
  // The same line in another file, and one of its orders, are found as settled.
  const again = await settle([lineAbout(reference, 3000, { fee: 7 }), lineOf(orders[0] as Attempt)]);
  expect(again.outcomes).toMatchObject({ matched: 0, missing_in_ledger: 1, duplicate: 1 });
  const [found] = await breakOf(again.file_id);
  expect(found?.expected).toMatch(
    /^3 orders, in all 30.00 USD, and the line has 30.00 USD: pat_[0-9a-f]{32} is already settled$/,
  );
  await withdraw(again.file_id);
  await withdraw(file.file_id);
  await match();
  expect(await marks(orders)).toMatchObject([UNMARKED, UNMARKED, UNMARKED]);
  expect(await breakOf(again.file_id)).toEqual([]);
  expect((await settle([lineAbout(reference, 3000)])).outcomes).toMatchObject({ matched: 1 });
});

test('gives the orders of a batch whose outcome is unknown the answer that they were carried out', async () => {
  const reference = newReference();
  const orders = await batch(reference, ['unknown', 'approved', 'unknown'], 'unload');
  const file = await settle([lineAbout(reference, 3000, { kind: 'pull' })]);
  expect(file.outcomes).toMatchObject({ reported: 1, missing_in_ledger: 0 });
  expect(await marks(orders)).toEqual(orders.map(() => ({ file: file.file_id, fee: '0', status: 'approved' })));
});

test.each<[string, readonly Status[], object, RegExp]>([
  [
    'another sum',
    ['approved', 'approved'],
    { amount: 2001 },
    /^2 orders, in all 20.00 USD, and the line has 20.01 USD: the sums differ$/,
  ],
  ['another direction', ['approved', 'approved'], { kind: 'pull' }, /: pat_[0-9a-f]{32} is a push$/],
  [
    'another currency',
    ['approved', 'approved'],
    { currency: 'EUR' },
    /and the line has 20.00 EUR: pat_[0-9a-f]{32} is in USD$/,
  ],
  ['a declined order', ['approved', 'declined'], {}, /: pat_[0-9a-f]{32} is declined$/],
  ['a reversal', ['approved', 'approved'], { status: 'reversed' }, /: a reversal settles no orders$/],
])('settles none of several orders if the line has %s', async (_name, statuses, change, expected) => {
  const reference = newReference();
  const orders = await batch(reference, statuses);
  const file = await settle([lineAbout(reference, 2000, change)]);
  expect(file.outcomes).toMatchObject({ matched: 0, reported: 0, missing_in_ledger: 1 });
  expect(await marks(orders)).toMatchObject(statuses.map(() => UNMARKED));
  const found = await breakOf(file.file_id);
  expect(found).toMatchObject([{ expected: expect.stringMatching(expected), bookings: [] }]);
  const { rows } = await client.query(
    'select attempt_ids from settlement_line where file_id = $1 and attempt_ids is not null',
    [fromWireId('stl', file.file_id)],
  );
  expect(rows).toEqual([]);
});

test('settles the orders of a batch that were not refused if they sum to the line', async () => {
  const reference = newReference();
  const orders = await batch(reference, ['approved', 'unknown', 'declined']);
  const file = await settle([lineAbout(reference, 2000)]);
  expect(file.outcomes).toMatchObject({ reported: 1, missing_in_ledger: 0 });
  const settled = { file: file.file_id, status: 'approved' };
  const marked = await Promise.all(orders.map(async (one) => (await marks([one]))[0]));
  expect(marked).toMatchObject([settled, settled, { ...UNMARKED, status: 'declined' }]);
});

test('compares a line with the sum of its orders although only one of them has its reference yet', async () => {
  const reference = newReference();
  const orders = await batch(reference, ['approved']);
  const [first] = orders as [Attempt];
  const lines = [lineAbout(reference, 2000, { attempt_id: 'not-our-id' })];
  const early = await settle(lines);
  expect(early.outcomes).toMatchObject({ differs: 0, missing_in_ledger: 1 });
  expect(await breakOf(early.file_id)).toMatchObject([
    { expected: '1 order, in all 10.00 USD, and the line has 20.00 USD: the sums differ', bookings: [] },
  ]);
  expect((await breaksOf('contradiction')).filter(({ attempt_id: id }) => id === wireId(first))).toEqual([]);
  // The other order gets the reference, and the file is imported again.
  orders.push(...(await batch(reference, ['approved'])));
  await withdraw(early.file_id);
  await match();
  expect((await settle(lines)).outcomes).toMatchObject({ matched: 1 });
  // A line that names the order by our id still has another amount than it.
  const [other] = (await batch(newReference(), ['approved'])) as [Attempt];
  expect((await settle([lineOf(other, { amount: 2000 })])).outcomes).toMatchObject({ differs: 1 });
});

test('says in a reopened break how the orders differ from the new line', async () => {
  const reference = newReference();
  await batch(reference, ['approved', 'approved']);
  const wrong = await settle([lineAbout(reference, 2001)]);
  await withdraw(wrong.file_id);
  const corrected = await settle([lineAbout(reference, 1999)]);
  expect(await breakOf(corrected.file_id)).toMatchObject([
    { amount: 1999, expected: '2 orders, in all 20.00 USD, and the line has 19.99 USD: the sums differ' },
  ]);
});

test('settles none of several orders if an earlier line of the file settles one, or if one has an open contradiction', async () => {
  for (const isContradicted of [true, false]) {
    const reference = newReference();
    const orders = await batch(reference, ['approved', 'approved']);
    const [first] = orders as [Attempt];
    const earlier = isContradicted ? lineOf(first, { status: 'reversed' }) : lineOf(first);
    const file = await settle([earlier, lineAbout(reference, 2000)]);
    expect(file.outcomes).toMatchObject({ missing_in_ledger: 1 });
    const [found] = await breakOf(file.file_id);
    expect(found?.expected).toContain(
      `${wireId(first)} ${isContradicted ? 'has an open contradiction' : 'is already settled'}`,
    );
    expect((await marks(orders)).map(({ file: id }) => id !== null).sort()).toEqual([false, !isContradicted]);
  }
});

test('settles many batches once while connections are cut and two processes compare the file', async () => {
  const references = Array.from({ length: 12 }, newReference);
  const statuses = (index: number): readonly Status[] =>
    index % 3 === 0 ? ['unknown', 'approved'] : index % 3 === 1 ? ['approved', 'approved'] : ['declined', 'approved'];
  const orders: (readonly Attempt[])[] = [];
  for (const [index, reference] of references.entries()) orders.push(await batch(reference, statuses(index)));
  const lines = references.map((reference) => lineAbout(reference, 2000, { fee: 5 }));
  const { file_id: fileId } = await createFile(lines);
  await add(fileId, 1, lines);
  await match(cutConnections);
  expect((await show(fileId)).outcomes).toMatchObject({ matched: 4, reported: 4, missing_in_ledger: 4 });
  for (const [index, own] of orders.entries()) {
    const isSettled = index % 3 !== 2;
    const found = await marks(own);
    expect(found.map(({ file }) => file)).toEqual(own.map(() => (isSettled ? fileId : null)));
    if (isSettled)
      expect(found).toMatchObject([
        { fee: '2', status: 'approved' },
        { fee: '3', status: 'approved' },
      ]);
  }
  expect(await breakOf(fileId)).toHaveLength(4);
});

// The state that a process leaves if it is killed after it has stored the outcome and answered for the first order.
test('finishes a batch with its first orders if the process that began was killed', async () => {
  const reference = newReference();
  const orders = await batch(reference, ['approved', 'unknown', 'unknown']);
  const lines = [lineAbout(reference, 3000)];
  const { file_id: fileId } = await createFile(lines);
  await add(fileId, 1, lines);
  await client.query("update settlement_line set outcome = 'reported', attempt_ids = $2 where file_id = $1", [
    fromWireId('stl', fileId),
    orders.map(({ attemptId }) => attemptId),
  ]);
  // This order was approved with the same reference after the outcome had been stored.
  const later = await batch(reference, ['approved']);
  await match();
  expect((await show(fileId)).outcomes).toMatchObject({ reported: 1, matched: 0, missing_in_ledger: 0 });
  expect(await marks(orders)).toMatchObject(orders.map(() => ({ file: fileId, status: 'approved' })));
  expect(await marks(later)).toMatchObject([UNMARKED]);
});

/** Imports a line, and stops the processes that compare it after its outcome is stored and before the line is counted. */
async function begin(line: Line): Promise<string> {
  const { file_id: fileId } = await createFile([line]);
  await add(fileId, 1, [line]);
  await client.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'the test refuses to count'; end $$;
      create trigger refuse before update of lines_examined on settlement_file execute function refuse()`,
  );
  const begun = 'select from settlement_line where file_id = $1 and outcome is not null';
  const isBegun = async () => (await client.query(begun, [fromWireId('stl', fileId)])).rowCount === 1;
  await runJob(startMatchingSettlements, isBegun);
  await client.query('drop function refuse cascade');
  return fileId;
}

test.each<[string, object, string]>([
  ['a settlement', {}, 'approved'],
  ['a reversal', { status: 'reversed' }, 'reversed'],
])(
  'counts %s of one order for that order, although others get its reference before the line is counted',
  async (_name, change, status) => {
    const reference = newReference();
    const [first] = (await batch(reference, ['unknown'])) as [Attempt];
    const fileId = await begin(lineAbout(reference, 1000, { fee: 10, ...change }));
    const later = [
      ...(await batch(reference, ['unknown', 'declined'])),
      ...(await batch(reference, ['unknown'], 'unload')),
    ];
    await match();
    expect((await show(fileId)).outcomes).toMatchObject({ reported: 1, missing_in_ledger: 0 });
    expect(await marks([first])).toMatchObject([{ status }]);
    const unchanged = await marks(later);
    expect(unchanged).toMatchObject(later.map(() => UNMARKED));
    expect(unchanged.map((one) => one.status).sort()).toEqual(['declined', 'unknown', 'unknown']);
  },
);

test('settles and takes back a batch with more orders than one statement changes', async () => {
  const reference = newReference();
  const [first] = (await batch(reference, ['approved'])) as [Attempt];
  const orders = [first, ...(await copy(first, 1_100))];
  const lines = [lineAbout(reference, 1000 * orders.length, { fee: 1_000 })];
  const { file_id: fileId } = await createFile(lines);
  await add(fileId, 1, lines);
  await match(cutConnections);
  const settled = await marks(orders);
  expect(settled.filter(({ file }) => file === fileId)).toHaveLength(orders.length);
  expect(settled.reduce((sum, { fee }) => sum + Number(fee), 0)).toBe(1_000);
  await withdraw(fileId);
  await match(cutConnections);
  expect((await marks(orders)).filter(({ file, fee }) => file === null && fee === null)).toHaveLength(orders.length);
  expect(await show(fileId)).toMatchObject({ status: 'withdrawn', lines_examined: 1 });
});

const close = (breakId: string, orders: readonly Pick<Attempt, 'attemptId'>[], more: object = {}) =>
  bodyOf<BreakRecord>(
    ledger.call(
      'close_break',
      { note: 'Their advice of the payment.', attempt_ids: orders.map(wireId), ...more },
      { params: { break_id: breakId } },
    ),
  );

const get = (breakId: string) => bodyOf<BreakRecord>(ledger.call('get_break', {}, { params: { break_id: breakId } }));

const PARAMETERS = { code: 'close_break_schema', field: '/attempt_ids' };

/** Imports a line about an unknown order, and returns its break. */
async function unknownLine(amount: number, more: object = {}) {
  const file = await settle([lineAbout(newReference(), amount, more)]);
  const [found] = await breakOf(file.file_id);
  if (found === undefined) throw new Error('the line has no break');
  return { file, found };
}

const approvedAt = (orders: readonly Attempt[], time: string) =>
  client.query('update processor_attempt set updated_at = $2 where attempt_id = any ($1)', [
    orders.map(({ attemptId }) => attemptId),
    time,
  ]);

test('settles the orders that a person names for a line, once, until its file is withdrawn', async () => {
  const orders = await batch(newReference(), ['approved', 'approved']);
  const { file, found } = await unknownLine(2000, { fee: 9 });
  const closed = await close(found.break_id, orders);
  const ids = orders.map(wireId).sort();
  expect(closed).toMatchObject({
    note: 'Their advice of the payment.',
    closed_by: 'sandbox',
    proposed_attempt_ids: [],
  });
  expect(closed.settlement_lines).toMatchObject([{ settled_attempt_ids: ids }]);
  expect(await marks(orders)).toMatchObject([
    { file: file.file_id, fee: '4' },
    { file: file.file_id, fee: '5' },
  ]);
  expect(await close(found.break_id, [...orders].reverse(), { note: 'Again.' })).toMatchObject({
    note: closed.note,
    closed_at: closed.closed_at,
  });
  const audit = "select details from audit_entry where action = 'close_break' and subject_id = $1";
  const { rows } = await client.query(audit, [found.break_id]);
  expect(rows).toHaveLength(1);
  expect(JSON.parse(rows[0].details)).toMatchObject({ settlement_lines: [{ settled_attempt_ids: ids }] });
  const other = await batch(newReference(), ['approved', 'approved']);
  expect(await refusal(close(found.break_id, other))).toMatchObject({
    ...PARAMETERS,
    message: 'The line of this break has already settled other orders.',
  });
  expect((await settle([lineOf(orders[0] as Attempt)])).outcomes).toMatchObject({ duplicate: 1 });
  await withdraw(file.file_id);
  await match();
  expect(await marks(orders)).toMatchObject([UNMARKED, UNMARKED]);
  expect((await get(found.break_id)).settlement_lines).toMatchObject([{ settled_attempt_ids: [] }]);
  expect(await refusal(close(found.break_id, orders))).toMatchObject({
    ...PARAMETERS,
    message: `The settlement file '${file.file_id}' was withdrawn, so it settles no orders.`,
  });
});

test('reopens the break of a withdrawn file that is imported again, and closes the break of an order that was in no file', async () => {
  const [order] = (await batch(newReference(), ['approved'])) as [Attempt];
  const lines = [lineAbout(newReference(), 1000)];
  const first = await settle(lines);
  const [found] = await breakOf(first.file_id);
  await close(found?.break_id ?? '', [order]);
  await withdraw(first.file_id);
  await match();
  await client.query(
    `insert into processor_break (break_id, kind, connector_id, program_id, attempt_id, transfer_id, amount, currency, expected,
        found, stated_amount, created_at)
      select gen_random_uuid(), 'missing_in_file', connector_id, program_id, attempt_id, transfer_id, amount, currency, status,
        'in no settlement file', 0, now() from processor_attempt where attempt_id = $1`,
    [order.attemptId],
  );
  const second = await settle(lines);
  const [again] = await breakOf(second.file_id);
  expect(again).toMatchObject({ break_id: found?.break_id, closed_at: null });
  await close(again?.break_id ?? '', [order]);
  expect(await marks([order])).toMatchObject([{ file: second.file_id }]);
  const missing = await breaksOf('missing_in_file', { status: 'closed' });
  expect(missing.filter(({ attempt_id: id }) => id === wireId(order))).toMatchObject([
    { closed_by: 'service', note: 'A settlement file has the order.', bookings: [] },
  ]);
});

test('proposes approved orders of the amount, currency and direction of a line, and none that are settled or too old', async () => {
  const orders = await batch(newReference(), ['approved', 'approved', 'declined', 'approved']);
  const [near, nearer, , old] = orders as [Attempt, Attempt, Attempt, Attempt];
  const pulled = await batch(newReference(), ['approved'], 'unload');
  // No other order was approved in this month.
  await approvedAt([near], '2026-06-26T00:00:00Z');
  await approvedAt([nearer, ...pulled], '2026-06-30T23:59:59Z');
  await approvedAt([old], '2026-06-24T23:59:59Z');
  const { found } = await unknownLine(1000, { settled_on: '2026-06-30' });
  expect(found.proposed_attempt_ids).toEqual([wireId(nearer), wireId(near)]);
  expect((await unknownLine(1001, { settled_on: '2026-06-30' })).found.proposed_attempt_ids).toEqual([]);
  // A file settles the order before the person accepts it.
  await settle([lineOf(nearer)]);
  expect((await get(found.break_id)).proposed_attempt_ids).toEqual([wireId(near)]);
  expect(await refusal(close(found.break_id, [nearer]))).toEqual({
    ...PARAMETERS,
    message: `You named 1 order, in all 10.00 USD, and the line has 10.00 USD, but ${wireId(nearer)} is already settled.`,
  });
  expect(await close(found.break_id, [near])).toMatchObject({ proposed_attempt_ids: [] });
});

test('refuses orders that a line cannot have settled, and names the first problem and both sums', async () => {
  const orders = await batch(newReference(), ['approved', 'approved', 'declined', 'unknown']);
  const [first, second, declined, unknown] = orders as [Attempt, Attempt, Attempt, Attempt];
  const [pulled] = (await batch(newReference(), ['approved'], 'unload')) as [Attempt];
  const { found } = await unknownLine(2000);
  const why = async (named: readonly Attempt[], more: object = {}) =>
    (await refusal(close(found.break_id, named, more)))?.message;
  const sums = (count: number, sum: number) =>
    `You named ${count} ${count === 1 ? 'order' : 'orders'}, in all ${sum}.00 USD, and the line has 20.00 USD, but`;
  expect(await why([first])).toBe(`${sums(1, 10)} the sums differ.`);
  expect(await why([first, first])).toBe(`${sums(1, 10)} the sums differ.`);
  expect(await why([first, declined])).toBe(`${sums(2, 20)} ${wireId(declined)} is declined.`);
  expect(await why([first, unknown])).toBe(`${sums(2, 20)} ${wireId(unknown)} is unknown.`);
  expect(await why([first, pulled])).toBe(`${sums(2, 20)} ${wireId(pulled)} is a pull.`);
  const nothing = { attemptId: randomUUID() } as Attempt;
  expect(await why([first, nothing])).toBe(`'${wireId(nothing)}' is not an order of the connector 'simulator'.`);
  const both = { book_against: 'loss', amount: 1000 };
  expect(await why([first, second], both)).toContain("Send either 'attempt_ids'");
  expect(await marks(orders)).toMatchObject(orders.map(() => UNMARKED));
  const twice = lineAbout(newReference(), 2000);
  const [several] = await breakOf((await settle([twice, twice])).file_id);
  expect(await refusal(close(several?.break_id ?? '', [first, second]))).toMatchObject({
    ...PARAMETERS,
    message: expect.stringContaining('Several lines'),
  });
  await settle([lineOf(first), lineOf(first)]);
  const [duplicate] = (await breaksOf('duplicate')).filter(({ attempt_id: id }) => id === wireId(first));
  expect(await refusal(close(duplicate?.break_id ?? '', [second]))).toMatchObject({
    ...PARAMETERS,
    message: expect.stringContaining("Only a break 'missing_in_ledger'"),
  });
});

test('settles an order by one line if two breaks name it at the same time', async () => {
  for (let round = 0; round < 5; round += 1) {
    const orders = await batch(newReference(), ['approved', 'approved', 'approved']);
    const [left, both, right] = orders as [Attempt, Attempt, Attempt];
    const lines = [1, 2].map(() => lineAbout(newReference(), 2000));
    // The breaks are of one file in every second round.
    const files =
      round % 2 === 0 ? [await settle(lines)] : [await settle([lines[0] as Line]), await settle([lines[1] as Line])];
    const found = (await Promise.all(files.map(({ file_id: id }) => breakOf(id)))).flat();
    const sent = [close(found[0]?.break_id ?? '', [left, both]), close(found[1]?.break_id ?? '', [both, right])];
    const refused = await Promise.all(sent.map(refusal));
    expect(refused.filter((one) => one === undefined)).toHaveLength(1);
    expect(refused.find((one) => one !== undefined)?.message).toContain(`${wireId(both)} is already settled`);
    expect((await marks(orders)).filter(({ file }) => file !== null)).toHaveLength(2);
  }
});

/** Waits until so many transactions wait for a lock. */
const untilWaiting = (count: number): Promise<void> =>
  waitFor(
    'the lock of the order',
    async () => {
      // Without this, the transaction would see the same activity again.
      await client.query('select pg_stat_clear_snapshot()');
      const text = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      return ((await client.query(text)).rowCount ?? 0) >= count;
    },
    20_000,
  );

test('settles an order once if a file is compared while a person names the order', async () => {
  onTestFinished(async () => void (await client.query('rollback')));
  for (let round = 0; round < 5; round += 1) {
    const [order] = (await batch(newReference(), ['approved'])) as [Attempt];
    const { file: named, found } = await unknownLine(1000);
    const lines = [lineOf(order)];
    const { file_id: fileId } = await createFile(lines);
    await add(fileId, 1, lines);
    // Both wait for the lock of the order, and usually get it in the order in which they started.
    await client.query('begin');
    await client.query('select from processor_attempt where attempt_id = $1 for update', [order.attemptId]);
    const closing = refusal(close(found.break_id, [order]));
    await untilWaiting(1);
    const matching = match();
    await untilWaiting(2);
    await client.query('commit');
    const refused = await closing;
    await matching;
    const { outcomes } = await show(fileId);
    const [mark] = await marks([order]);
    if (refused === undefined) {
      expect([mark?.file, outcomes.duplicate]).toEqual([named.file_id, 1]);
    } else {
      expect([mark?.file, outcomes.matched, refused.message]).toEqual([
        fileId,
        1,
        expect.stringContaining('already settled'),
      ]);
    }
  }
});

test('counts orders that a person has accepted on the day of the acceptance, not on the day of the file', async () => {
  const noon = new Date().setUTCHours(12, 0, 0, 0) - 3 * 86_400_000;
  const at = (hours: number): string => new Date(noon + hours * 3_600_000).toISOString();
  const sums = async (hours: number) => {
    const { settlements } = await bodyOf<DayRecord>(
      ledger.call(
        'get_day',
        { day: at(hours).slice(0, 10) },
        { params: { program_id: toWireId('prog', DEMO_PROGRAM_ID) } },
      ),
    );
    const { opening = 0, settled = 0, closing = 0, fees = 0 } = settlements[0]?.pushed ?? {};
    return [opening, settled, closing, fees ?? 0].map(Number);
  };
  const [order] = (await batch(newReference(), ['approved'])) as [Attempt];
  const { file, found } = await unknownLine(1000, { fee: 4 });
  await close(found.break_id, [order]);
  const before = [await sums(-24), await sums(0), await sums(24)];
  await approvedAt([order], at(-40));
  await client.query('update settlement_file set matched_at = $2 where file_id = $1', [
    fromWireId('stl', file.file_id),
    at(-24),
  ]);
  await client.query('update processor_attempt set accepted_at = $2 where attempt_id = $1', [order.attemptId, at(1)]);
  const after = [await sums(-24), await sums(0), await sums(24)];
  const changes = after.map((day, index) => day.map((sum, column) => sum - (before[index]?.[column] ?? 0)));
  expect(changes).toEqual([
    [1000, 0, 1000, 0],
    [1000, 1000, 0, 4],
    [0, 0, 0, 0],
  ]);
});
