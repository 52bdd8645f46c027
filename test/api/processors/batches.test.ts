import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import { type Line, lineOf, type Status, useSettlements } from './settlements.ts';

// Tests lines of settlement files that pay several orders in one sum.

const { client, createFile, add, show, withdraw, match, settle, breaksOf, attempt, cutConnections } =
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
  [
    'a reversal',
    ['approved', 'approved'],
    { status: 'reversed' },
    /: a person must compare a reversal of several orders$/,
  ],
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
