import { randomUUID } from 'node:crypto';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { DayRecord } from '../../../contract/days.ts';
import type { OperatorAttemptRecord } from '../../../contract/processors/attempts.ts';
import type { BreakRecord } from '../../../contract/processors/breaks.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import { startFindingMissing } from '../../../server/background/processors/find-missing.ts';
import { readProcessorFigures } from '../../../server/store/figures.ts';
import { waitFor } from '../../harness/process.ts';
import { bodyOf, lineOf, refusal, useSettlements } from './settlements.ts';

// Tests approved orders that are in no settlement file, and settlement files that do not arrive.

const { ledger, client, createFile, add, show, withdraw, runJob, match, settle, breaksOf, attempt } =
  await useSettlements();

// This is the first file. Each test adds a newer one.
beforeAll(async () => void (await settle([lineOf(await attempt('approved'))])));

type AttemptsPage = { readonly data: readonly OperatorAttemptRecord[]; readonly next_cursor: string | null };

const program_id = toWireId('prog', DEMO_PROGRAM_ID);

/** Reads the report of a day. Unless it is closed, the list of the orders that were open at its end sums to its closing sums. */
async function readDay(day: string): Promise<DayRecord> {
  const report = await bodyOf<DayRecord>(ledger.call('get_day', { day }, { params: { program_id } }));
  // The report of a closed day stays the same even if a file is withdrawn later.
  if (report.status === 'closed') return report;
  const sums = new Map<string, number>();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = { program_id, unsettled_at: report.ends_at, limit: 100, ...(cursor !== '' && { cursor }) };
    const page: AttemptsPage = await bodyOf<AttemptsPage>(ledger.call('search_attempts', query));
    for (const { kind, amount } of page.data) sums.set(kind, (sums.get(kind) ?? 0) + amount);
    cursor = page.next_cursor;
  }
  const [{ pushed, pulled } = { pushed: { closing: 0 }, pulled: { closing: 0 } }] = report.settlements;
  expect([sums.get('push') ?? 0, sums.get('pull') ?? 0]).toEqual([Number(pushed.closing), Number(pulled.closing)]);
  return report;
}

/** Changes how many hours ago an order was approved. */
const approvedBefore = ({ attemptId }: Attempt, hours: number) =>
  client.query("update processor_attempt set updated_at = now() - $2 * interval '1 hour' where attempt_id = $1", [
    attemptId,
    hours,
  ]);

/** Changes when all files arrived: the newest this many hours ago, and the first one 100 hours before that. */
const filesArrived = async (hours: number): Promise<void> => {
  await client.query("update settlement_file set created_at = now() - $1 * interval '1 hour'", [hours]);
  await client.query(
    `update settlement_file set created_at = created_at - interval '100 hours'
      where file_id = (select min(file_id::text)::uuid from settlement_file where status = 'matched')`,
  );
};

const about = async (kind: string, { attemptId }: Attempt, query: object = {}): Promise<readonly BreakRecord[]> =>
  (await breaksOf(kind, query)).filter(({ attempt_id: id }) => id === toWireId('pat', attemptId));

const untilOpen = (of: Attempt, count: number): Promise<void> =>
  runJob(startFindingMissing, async () => (await about('missing_in_file', of)).length === count);

test('finds approved orders that are not in a file in time, and closes their breaks once a file contains them', async () => {
  const [late, fresh, ancient, other, refused] = await Promise.all(
    (['approved', 'approved', 'approved', 'approved', 'declined'] as const).map((status) => attempt(status)),
  );
  if (!late || !fresh || !ancient || !other || !refused) throw new Error('an attempt is missing');
  await settle([lineOf(other, { amount: 700 })]);
  await settle([lineOf(await attempt('approved'))]);
  await filesArrived(0);
  for (const one of [late, other, refused]) await approvedBefore(one, 49);
  await approvedBefore(fresh, 47);
  await approvedBefore(ancient, 101);
  await untilOpen(late, 1);
  expect((await breaksOf('missing_in_file')).map(({ attempt_id: id }) => id)).toEqual([
    toWireId('pat', late.attemptId),
  ]);
  const [found] = await about('missing_in_file', late);
  expect(found).toMatchObject({ amount: 1000, currency: 'USD', expected: 'approved' });
  expect(found?.found).toMatch(/^in no settlement file by 20\d\d-/);
  expect(found?.bookings.map(({ from, to, amount }) => [from, to, amount])).toEqual([
    ['clearing', 'funding', 1000],
    ['clearing', 'loss', 1000],
  ]);
  const file = await settle([lineOf(late)]);
  await untilOpen(late, 0);
  expect(await about('missing_in_file', late, { status: 'closed' })).toMatchObject([{ closed_by: 'service' }]);
  await withdraw(file.file_id);
  await match();
  await untilOpen(late, 1);
  await settle([lineOf(late), lineOf(late)]);
  await untilOpen(late, 0);
});

test('offers to undo the booking of a missing order if a file contains the order after all', async () => {
  const late = await attempt('approved');
  await settle([lineOf(await attempt('approved'))]);
  await filesArrived(0);
  await approvedBefore(late, 49);
  await untilOpen(late, 1);
  const [found] = await about('missing_in_file', late);
  const close = { note: 'It never left.', book_against: 'funding', amount: 1000 };
  await ledger.call('close_break', close, { params: { break_id: found?.break_id ?? '' } });
  expect((await settle([lineOf(late)])).outcomes).toMatchObject({ reported: 1 });
  expect(await about('contradiction', late)).toMatchObject([
    { bookings: [{ from: 'funding', to: 'clearing', amount: 1000 }, { from: 'loss' }] },
  ]);
  expect(await about('missing_in_file', late, { status: 'closed' })).toMatchObject([{ closed_by: 'sandbox' }]);
});

test('reports that no file has arrived although orders are due, until one arrives', async () => {
  const waiting = await attempt('approved');
  const { file_id: newest } = await settle([lineOf(await attempt('approved'))]);
  await filesArrived(50);
  await approvedBefore(waiting, 49);
  await runJob(startFindingMissing, async () => (await breaksOf('file_missing')).length === 1);
  expect(await breaksOf('file_missing')).toMatchObject([
    { attempt_id: null, amount: null, currency: null, found: expect.stringContaining(`none since ${newest} of 20`) },
  ]);
  expect(await about('missing_in_file', waiting)).toEqual([]);
  // The metrics show the age of the oldest open break of each kind.
  await client.query(
    "update processor_break set created_at = created_at - interval '3 days' where kind = 'file_missing'",
  );
  const { openBreaks } = await readProcessorFigures(ledger.database);
  const open = openBreaks.find(({ kind }) => kind === 'file_missing');
  expect(open?.count).toBe(1);
  expect(open?.oldestSeconds).toBeGreaterThanOrEqual(3 * 86_400);
  await settle([lineOf(waiting)]);
  await runJob(startFindingMissing, async () => (await breaksOf('file_missing')).length === 0);
});

/** Creates an approved order that is missing from the files, and returns it with its break. */
async function missingOrder(): Promise<{ readonly late: Attempt; readonly found: BreakRecord }> {
  const late = await attempt('approved');
  await settle([lineOf(await attempt('approved'))]);
  await filesArrived(0);
  await approvedBefore(late, 49);
  await untilOpen(late, 1);
  const [found] = await about('missing_in_file', late);
  if (found === undefined) throw new Error('the order has no break');
  return { late, found };
}

/** Books the difference of a break against funding. */
const book = ({ break_id }: BreakRecord) =>
  ledger.call(
    'close_break',
    { note: 'It never left.', book_against: 'funding', amount: 1000 },
    { params: { break_id } },
  );

const NOTHING_TO_BOOK = { code: 'close_break_schema', field: '/book_against' };

test('books a missing order only while it is in no file', async () => {
  const { late, found } = await missingOrder();
  await settle([lineOf(late)]);
  const [closed] = await about('missing_in_file', late, { status: 'closed' });
  expect(closed).toMatchObject({ closed_by: 'service', note: 'A settlement file has the order.', bookings: [] });
  expect(await refusal(book(found))).toMatchObject(NOTHING_TO_BOOK);
});

test('books a missing order once, even if it is in a later file and the booking is sent again', async () => {
  const { late, found } = await missingOrder();
  await book(found);
  const { money } = await bodyOf<{ money: { moved: string } }>(
    ledger.call('get_transfer_timeline', {}, { params: { transfer_id: found.transfer_id ?? '' } }),
  );
  expect(money.moved).toBe('moved_back');
  await settle([lineOf(late)]);
  await book(found);
  const [back] = await about('contradiction', late);
  if (back === undefined) throw new Error('the order has no contradiction');
  await book(back);
  await book(found);
  const { rows } = await client.query('select corrected_amount from processor_attempt where attempt_id = $1', [
    late.attemptId,
  ]);
  expect(rows).toEqual([{ corrected_amount: '0' }]);
});

/** The number of connections that wait for a lock. */
const waiting = async (): Promise<number> => {
  // Without this, the transaction would see the same activity again.
  await client.query('select pg_stat_clear_snapshot()');
  const text = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  return (await client.query(text)).rowCount ?? 0;
};

// The file and the booking both wait for the break's lock, and usually get it in the order in which they started.
test.each([
  ['the file', ['match', 'book']],
  ['the booking', ['book', 'match']],
] as const)(
  'keeps the books correct if a file arrives while a person books its missing order, and %s comes first',
  async (_name, order) => {
    const { late, found } = await missingOrder();
    const lines = [lineOf(late)];
    const { file_id: fileId } = await createFile(lines);
    await add(fileId, 1, lines);
    const starts = { match: () => match(), book: () => refusal(book(found)) };
    onTestFinished(async () => void (await client.query('rollback')));
    await client.query('begin');
    await client.query('select from processor_break where break_id = $1 for update', [
      fromWireId('brk', found.break_id),
    ]);
    const results: Promise<unknown>[] = [];
    for (const name of order) {
      results.push(starts[name]());
      // Another process that runs the job can wait for the file at the same time.
      await waitFor('the lock of the break', async () => (await waiting()) >= results.length, 20_000);
    }
    await client.query('commit');
    const refused = (await Promise.all(results))[order.indexOf('book')] as { readonly code: string } | undefined;
    // A statement that waits too long for a lock is repeated, so the other request can come first.
    expect([undefined, NOTHING_TO_BOOK.code]).toContain(refused?.code);
    const contradictions = await about('contradiction', late);
    expect(contradictions.map(({ bookings }) => bookings.length)).toEqual(refused === undefined ? [2] : []);
  },
);

test('compares a line again if the processor contradicts its order before the line is counted', async () => {
  const { late, found } = await missingOrder();
  const lines = [lineOf(late)];
  const { file_id: fileId } = await createFile(lines);
  await add(fileId, 1, lines);
  onTestFinished(async () => void (await client.query('rollback')));
  await client.query('begin');
  await client.query('select from processor_break where break_id = $1 for update', [fromWireId('brk', found.break_id)]);
  const matched = match();
  await waitFor('the lock of the break', async () => (await waiting()) > 0, 20_000);
  await client.query('update processor_attempt set contradicted_at = now() where attempt_id = $1', [late.attemptId]);
  await client.query('commit');
  await matched;
  expect((await show(fileId)).outcomes).toMatchObject({ matched: 0, reported: 1 });
});

test('reports an order that the break of a line names as missing only once a person has closed that break', async () => {
  const late = await missingOrder();
  const reference = `batch-${randomUUID()}`;
  const orders = [
    late.late,
    await attempt('approved', 'load', reference),
    await attempt('approved', 'load', reference),
  ];
  const named = orders.slice(1) as [Attempt, Attempt];
  await client.query('update processor_attempt set processor_reference = $2 where attempt_id = $1', [
    late.late.attemptId,
    reference,
  ]);
  for (const one of named) await approvedBefore(one, 49);
  const line = {
    processor_reference: reference,
    kind: 'push',
    amount: 2999,
    currency: 'USD',
    settled_on: '2026-11-30',
  };
  const file = await settle([line]);
  // The job closes a break that is open already.
  await untilOpen(late.late, 0);
  await filesArrived(0);
  const witness = await attempt('approved');
  await approvedBefore(witness, 49);
  await untilOpen(witness, 1);
  for (const one of orders) expect(await about('missing_in_file', one)).toEqual([]);
  const [refused] = (await breaksOf('missing_in_ledger')).filter(({ found }) => found.includes(file.file_id));
  await ledger.call(
    'close_break',
    { note: 'Not for these orders.' },
    { params: { break_id: refused?.break_id ?? '' } },
  );
  for (const one of orders) await untilOpen(one, 1);
});

test('settles a batch with an order that was booked as missing, and offers to undo the booking', async () => {
  const { late, found } = await missingOrder();
  const reference = `batch-${randomUUID()}`;
  const other = await attempt('approved', 'load', reference);
  await client.query('update processor_attempt set processor_reference = $2 where attempt_id = $1', [
    late.attemptId,
    reference,
  ]);
  await book(found);
  const line = {
    processor_reference: reference,
    kind: 'push',
    amount: 2000,
    currency: 'USD',
    settled_on: '2026-11-30',
  };
  expect((await settle([line])).outcomes).toMatchObject({ reported: 1, missing_in_ledger: 0 });
  expect(await about('contradiction', late)).toMatchObject([
    { bookings: [{ from: 'funding', to: 'clearing', amount: 1000 }, { from: 'loss' }] },
  ]);
  expect(await about('contradiction', other)).toEqual([]);
  expect((await settle([lineOf(late), lineOf(other)])).outcomes).toMatchObject({ duplicate: 2 });
});

test('reports a missing order even if the processor contradicted and then confirmed it', async () => {
  const { late } = await missingOrder();
  await client.query(
    `insert into processor_break (break_id, kind, connector_id, program_id, attempt_id, amount, currency, expected, found,
        stated_amount, created_at, closed_at, closed_by)
      select gen_random_uuid(), 'contradiction', connector_id, program_id, attempt_id, amount, currency, 'approved',
        'declined, approved', amount, now(), now(), 'sandbox' from processor_attempt where attempt_id = $1`,
    [late.attemptId],
  );
  // Once the job has found another order, it has finished a round.
  const witness = await attempt('approved');
  await approvedBefore(witness, 49);
  await untilOpen(witness, 1);
  expect(await about('missing_in_file', late)).toHaveLength(1);
});

test('reports again that no file has arrived after the newest one is withdrawn', async () => {
  const waiting = await attempt('approved');
  await settle([lineOf(await attempt('approved'))]);
  await filesArrived(50);
  await approvedBefore(waiting, 49);
  const untilLate = (count: number) =>
    runJob(startFindingMissing, async () => (await breaksOf('file_missing')).length === count);
  await untilLate(1);
  const wrong = await settle([lineOf(await attempt('approved'))]);
  await untilLate(0);
  await withdraw(wrong.file_id);
  await match();
  await untilLate(1);
});

test('does not report a late file while the newest file is recent', async () => {
  const waiting = await attempt('approved');
  const late = await attempt('approved');
  await settle([lineOf(await attempt('approved'))]);
  await filesArrived(1);
  await approvedBefore(waiting, 48.5);
  await approvedBefore(late, 50);
  // Once the job has found the other order, it has finished a round.
  await untilOpen(late, 1);
  expect(await breaksOf('file_missing')).toEqual([]);
});

test("reports a day's orders until they are in a file, and the fees of the lines that settled orders", async () => {
  const noon = new Date().setUTCHours(12, 0, 0, 0) - 3 * 86_400_000;
  const call = { params: { program_id } };
  const query = { day: new Date(noon).toISOString().slice(0, 10) };
  const orders = async () => {
    const { settlements } = await readDay(query.day);
    return settlements
      .flatMap(({ pushed, pulled }) => [...Object.values(pushed), ...Object.values(pulled)])
      .map(Number);
  };
  const [waiting, settledNow, settledThen, booked, pulled, declined] = await Promise.all([
    ...[1, 2, 3, 4].map(() => attempt('approved')),
    attempt('approved', 'unload'),
    attempt('declined'),
  ]);
  if (!waiting || !settledNow || !settledThen || !booked || !pulled || !declined) {
    throw new Error('an attempt is missing');
  }
  const then = await settle([
    lineOf(settledThen, { fee: 7 }),
    lineOf(pulled, { fee: 3 }),
    // A late approval is not among the orders, but its fee counts.
    lineOf(declined, { fee: 5 }),
    lineOf(settledThen, { fee: 100 }),
  ]);
  await settle([lineOf(settledNow, { fee: 20 })]);
  await filesArrived(0);
  const before = await orders();
  const move = (attempts: readonly Attempt[], hours: number) =>
    client.query(
      "update processor_attempt set updated_at = $1::timestamptz + $2 * interval '1 hour' where attempt_id = any ($3)",
      [new Date(noon), hours, attempts.map(({ attemptId }) => attemptId)],
    );
  // Moves these orders to an hour before the day. At any time of day, that is at most 97 hours ago, and so after the
  // first file.
  await move([waiting, pulled, booked], -13);
  await move([settledNow, settledThen], 0);
  await client.query('update settlement_file set matched_at = $1 where file_id = $2', [
    new Date(noon + 3_600_000),
    fromWireId('stl', then.file_id),
  ]);
  await untilOpen(booked, 1);
  const [found] = await about('missing_in_file', booked);
  if (found === undefined) throw new Error('the order has no break');
  await book(found);
  await client.query('update processor_break set closed_at = $1 where break_id = $2', [
    new Date(noon + 7_200_000),
    fromWireId('brk', found.break_id),
  ]);
  const after = await orders();
  // One entry for each direction: initially, approved, settled, resolved, finally, fees.
  const changes = (now: readonly number[]) => now.map((sum, index) => sum - (before[index] ?? 0));
  expect(changes(after)).toEqual([2000, 2000, 1000, 1000, 2000, 12, 1000, 0, 1000, 0, 0, 3]);
  // An attempt that ends later does not move its fee to another day.
  await client.query("update processor_attempt set status = 'approved', updated_at = now() where attempt_id = $1", [
    declined.attemptId,
  ]);
  expect(changes(await orders())[5]).toBe(12);
  await ledger.call('close_day', { ...query, note: 'Compared with the invoice.' }, call);
  const closed = await orders();
  expect(closed).toEqual(after);
  await withdraw(then.file_id);
  await match();
  expect(await orders()).toEqual(closed);
  const { rows } = await client.query(
    'select settlement_fee from processor_attempt where attempt_id = any ($1) order by settlement_fee',
    [[settledNow, settledThen, pulled, declined].map(({ attemptId }) => attemptId)],
  );
  expect(rows.map(({ settlement_fee: fee }) => fee)).toEqual(['20', null, null, null]);
});

test('reports an order that was approved after its file on the day of the approval, and its fee on the day of the file', async () => {
  const noon = new Date().setUTCHours(12, 0, 0, 0) - 6 * 86_400_000;
  const sums = async (days: number): Promise<readonly number[]> => {
    const query = { day: new Date(noon + days * 86_400_000).toISOString().slice(0, 10) };
    const { settlements } = await readDay(query.day);
    const { opening, approved, settled, closing, fees } = settlements[0]?.pushed ?? {};
    return [opening, approved, settled, closing, fees].map((sum) => Number(sum ?? 0));
  };
  const late = await attempt('approved');
  const file = await settle([lineOf(late, { fee: 9 })]);
  await filesArrived(0);
  const days = async () => [await sums(-1), await sums(0), await sums(1)];
  const before = await days();
  await client.query('update settlement_file set matched_at = $2 where file_id = $1', [
    fromWireId('stl', file.file_id),
    new Date(noon - 86_400_000),
  ]);
  await client.query('update processor_attempt set updated_at = $2 where attempt_id = $1', [
    late.attemptId,
    new Date(noon),
  ]);
  const after = await days();
  expect(after.map((day, index) => day.map((sum, column) => sum - (before[index]?.[column] ?? 0)))).toEqual([
    [0, 0, 0, 0, 9],
    [0, 1000, 1000, 0, 0],
    [0, 0, 0, 0, 0],
  ]);
});

test('reports an order from before the first file on the day on which a file contradicted it', async () => {
  const noon = new Date().setUTCHours(12, 0, 0, 0) - 2 * 86_400_000;
  const sums = async (): Promise<readonly number[]> => {
    const query = { day: new Date(noon).toISOString().slice(0, 10) };
    const { settlements } = await readDay(query.day);
    const { opening, approved, settled, resolved, closing } = settlements[0]?.pushed ?? {};
    return [opening, approved, settled, resolved, closing].map((sum) => Number(sum ?? 0));
  };
  const [old, forgotten] = await Promise.all([attempt('approved'), attempt('approved')]);
  if (!old || !forgotten) throw new Error('an attempt is missing');
  await settle([lineOf(old, { amount: 1100 })]);
  await filesArrived(0);
  const setTimes = async (contradictedAt: Date): Promise<void> => {
    await client.query('update processor_attempt set contradicted_at = $2 where attempt_id = $1', [
      old.attemptId,
      contradictedAt,
    ]);
    await client.query('update processor_break set created_at = $2 where attempt_id = $1', [
      old.attemptId,
      contradictedAt,
    ]);
  };
  await setTimes(new Date(noon - 10 * 86_400_000));
  for (const one of [old, forgotten]) await approvedBefore(one, 200);
  const before = await sums();
  await setTimes(new Date(noon));
  expect((await sums()).map((sum, index) => sum - (before[index] ?? 0))).toEqual([1000, 0, 0, 1000, 0]);
});
