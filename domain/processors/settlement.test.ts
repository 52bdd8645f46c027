import { expect, test } from 'vitest';
import type { Attempt } from './attempt.ts';
import {
  type BatchOrder,
  batchFindingOf,
  batchInWords,
  type Finding,
  feesOf,
  findingOf,
  lineInWords,
  MAX_BATCH_ORDERS,
  ordersDue,
  ordersPaid,
  type SettlementLine,
  settles,
} from './settlement.ts';

const LINE: SettlementLine = { kind: 'push', amount: 1000n, currency: 'USD', status: 'settled' };

const ATTEMPT = {
  kind: 'push',
  amount: 1000n,
  currency: 'USD',
  status: 'approved',
  lateApprovalAt: null,
  contradictedAt: null,
  contradictionSettledAt: null,
  correctedAmount: 0n,
} as unknown as Attempt;

type Row = readonly [name: string, line: Partial<SettlementLine>, attempt: Partial<Attempt>, finding: Finding];

const matched = { outcome: 'matched' } as const;
const approved = { outcome: 'reported', answer: 'approved' } as const;
const reversed = { outcome: 'reported', answer: 'reversed' } as const;
const differs = (stated: bigint | null): Finding => ({ outcome: 'differs', stated });

test.each<Row>([
  ['the same as the books', {}, {}, matched],
  ['another amount', { amount: 900n }, {}, differs(900n)],
  ['another currency', { currency: 'EUR' }, {}, differs(null)],
  ['the other direction', { kind: 'pull' }, {}, differs(-1000n)],
  ['an approval that was still unknown', {}, { status: 'attention' }, approved],
  ['an approval of another amount that was still unknown', { amount: 900n }, { status: 'unknown' }, differs(900n)],
  ['an approval after a decline', {}, { status: 'declined' }, approved],
  ['a late approval that is in the books', {}, { status: 'failed', lateApprovalAt: 1 }, matched],
  ['a reversal of an approval', { status: 'reversed' }, {}, reversed],
  ['a reversal without an approval', { status: 'reversed' }, { status: 'declined' }, matched],
  ['a reversal of another amount', { status: 'reversed', amount: 900n }, {}, differs(null)],
  ['an amount that was booked', { amount: 900n }, { correctedAmount: -100n }, matched],
  ['an approval that the processor has contradicted since', {}, { contradictedAt: 1 }, approved],
  [
    'an approval whose contradiction a person has settled',
    {},
    { contradictedAt: 1, contradictionSettledAt: 2 },
    matched,
  ],
])('compares a line with its attempt: %s', (_name, line, attempt, finding) => {
  expect(findingOf({ ...LINE, ...line }, { ...ATTEMPT, ...attempt }, false)).toEqual(finding);
});

test('treats a second settlement in the same direction as a duplicate, but not a reversal', () => {
  expect(findingOf(LINE, ATTEMPT, true)).toEqual({ outcome: 'duplicate' });
  expect(findingOf({ ...LINE, amount: 900n }, ATTEMPT, true)).toEqual({ outcome: 'duplicate' });
  expect(findingOf({ ...LINE, kind: 'pull' }, ATTEMPT, true)).toEqual(differs(null));
  expect(findingOf({ ...LINE, status: 'reversed' }, ATTEMPT, true)).toEqual(reversed);
});

test('keeps the first outcome of a line if the books agree only because of that line', () => {
  expect(findingOf(LINE, ATTEMPT, false, 'reported')).toEqual(approved);
  const corrected = { ...ATTEMPT, correctedAmount: -100n };
  expect(findingOf({ ...LINE, amount: 900n }, corrected, false, 'differs')).toEqual(differs(900n));
});

test('counts an attempt as settled only after a settled line that matches the books or is reported to them', () => {
  expect(settles(LINE, matched)).toBe(true);
  expect(settles(LINE, approved)).toBe(true);
  expect(settles(LINE, differs(900n))).toBe(false);
  expect(settles({ ...LINE, status: 'reversed' }, reversed)).toBe(false);
});

test('reports a settled or reversed line without an attempt as missing in the ledger', () => {
  expect(findingOf({ ...LINE, status: 'reversed' }, undefined, false)).toEqual({ outcome: 'missing_in_ledger' });
});

test('describes lines in words', () => {
  expect(lineInWords(LINE)).toBe('push of 10.00 USD');
  expect(lineInWords({ kind: 'pull', amount: 500n, currency: 'JPY', status: 'reversed' })).toBe(
    'reversal of a pull of 500 JPY',
  );
});

test('considers an order missing only if a file has arrived since it was due', () => {
  const hour = 3_600_000;
  const received = { firstAt: 100 * hour, newestAt: 200 * hour };
  expect(ordersDue(received, 48, 247 * hour)).toEqual({
    inFiles: { from: 100 * hour, until: 152 * hour },
    // The newest file is 47 hours old, so the next file is not late yet.
    inNext: { from: 152 * hour, until: 152 * hour },
  });
  expect(ordersDue(received, 48, 248 * hour).inNext).toEqual({ from: 152 * hour, until: 200 * hour });
  // Orders from before the first file are never due.
  expect(ordersDue({ firstAt: 200 * hour, newestAt: 200 * hour }, 48, 249 * hour)).toEqual({
    inFiles: { from: 200 * hour, until: 152 * hour },
    inNext: { from: 200 * hour, until: 201 * hour },
  });
});

const ORDER = { ...ATTEMPT, attemptId: '00000000-0000-0000-0000-000000000001', isSettled: false };

const BATCH: SettlementLine = { ...LINE, amount: 2000n };

test.each<
  readonly [name: string, line: Partial<SettlementLine>, order: Partial<BatchOrder>, finding: Finding['outcome']]
>([
  ['the same as the books', {}, {}, 'matched'],
  ['another sum', { amount: 1999n }, {}, 'missing_in_ledger'],
  ['another currency', {}, { currency: 'EUR' }, 'missing_in_ledger'],
  ['another direction', {}, { kind: 'pull' }, 'missing_in_ledger'],
  ['a settled order', {}, { isSettled: true }, 'missing_in_ledger'],
  ['an unknown order', {}, { status: 'unknown' }, 'reported'],
  ['an order that was never sent', {}, { status: 'ready' }, 'missing_in_ledger'],
  ['an order that is being reversed', {}, { status: 'reversing' }, 'missing_in_ledger'],
  ['a declined order', {}, { status: 'declined' }, 'missing_in_ledger'],
  ['an order that was booked as missing', {}, { correctedAmount: -1000n }, 'reported'],
  ['an order with an open contradiction', {}, { contradictedAt: 1 }, 'missing_in_ledger'],
  ['a reversal', { status: 'reversed' }, {}, 'missing_in_ledger'],
])('compares a line with several orders: %s', (_name, line, order, outcome) => {
  expect(batchFindingOf({ ...BATCH, ...line }, [ORDER, { ...ORDER, ...order }]).outcome).toBe(outcome);
});

test('limits the number of orders of one line, and of those that get an answer', () => {
  const many = (count: number, order: Partial<BatchOrder>) =>
    Array.from({ length: count }, () => ({ ...ORDER, ...order }));
  const found = (count: number, order: Partial<BatchOrder> = {}) =>
    batchFindingOf({ ...LINE, amount: BigInt(count) * 1000n }, many(count, order)).outcome;
  expect([found(MAX_BATCH_ORDERS), found(MAX_BATCH_ORDERS + 1)]).toEqual(['matched', 'missing_in_ledger']);
  expect([found(500, { status: 'unknown' }), found(501, { status: 'unknown' })]).toEqual([
    'reported',
    'missing_in_ledger',
  ]);
});

test('keeps the outcome of several orders whose answers may be recorded already, unless one was settled in the meantime', () => {
  const answered = [ORDER, { ...ORDER, status: 'declined' as const }];
  expect(batchFindingOf(BATCH, answered, 'reported')).toEqual(approved);
  expect(batchFindingOf(BATCH, [ORDER, ORDER], 'reported')).toEqual(approved);
  expect(batchFindingOf(BATCH, [ORDER, { ...ORDER, isSettled: true }], 'reported').outcome).toBe('missing_in_ledger');
});

test('leaves out orders that were refused only if the others sum to the line', () => {
  const refused = { ...ORDER, status: 'declined' as const };
  expect(ordersPaid(LINE, [ORDER, refused])).toEqual([ORDER]);
  expect(ordersPaid(BATCH, [ORDER, refused])).toEqual([ORDER, refused]);
  for (const moved of [{ lateApprovalAt: 1 }, { contradictedAt: 1 }, { correctedAmount: 1000n }]) {
    expect(ordersPaid(LINE, [ORDER, { ...refused, ...moved }])).toHaveLength(2);
  }
});

test('divides a fee in proportion to the amounts, without losing a minor unit', () => {
  expect(feesOf(100n, [1000n, 1000n, 1000n])).toEqual([33n, 33n, 34n]);
  expect(feesOf(1n, [1n, 999n])).toEqual([0n, 1n]);
  expect(feesOf(0n, [5n])).toEqual([0n]);
  expect(feesOf(7n, [])).toEqual([]);
});

test('writes the sums of several orders, by currency, next to the amount of the line', () => {
  expect(batchInWords(BATCH, [ORDER])).toBe('1 order, in all 10.00 USD, and the line has 20.00 USD');
  expect(batchInWords(BATCH, [ORDER, { ...ORDER, currency: 'EUR' }, ORDER])).toBe(
    '3 orders, in all 10.00 EUR and 20.00 USD, and the line has 20.00 USD',
  );
});
