import { describe, expect, it } from 'vitest';
import type { SettlementFileRecord } from '../../../sdk/client.ts';
import {
  ATTEMPT_SENTENCES,
  ATTEMPT_WORDS,
  attemptsText,
  bookingChoices,
  breaksText,
  canBeResolved,
  effectOf,
  isOpen,
  lateOutcomesText,
  openText,
  orderOf,
  progressOf,
  progressText,
  resolvedText,
  resultText,
  sentenceOf,
  statementOf,
} from './processors.ts';

const LOAD = { kind: 'push', amount: 1250, currency: 'USD' } as const;
const UNLOAD = { ...LOAD, kind: 'pull' } as const;
const NONE = { ready: 0, sent: 0, unknown: 0, pending: 0, reversing: 0, attention: 0 };

it('says where the money goes for each outcome', () => {
  expect(orderOf(LOAD)).toBe('load of 12.50 USD');
  expect(effectOf(LOAD, 'executed')).toBe(
    "The load is completed: 12.50 USD moves from the program's funding to the card.",
  );
  expect(effectOf(LOAD, 'not_executed')).toContain("returns to the program's funding");
  expect(effectOf(UNLOAD, 'executed')).toContain("moves from the card to the program's funding");
  expect(effectOf(UNLOAD, 'not_executed')).toContain('stays on the card');
  expect(resolvedText({ ...LOAD, status: 'approved' })).toBe('Resolved: the load of 12.50 USD is completed.');
  expect(resolvedText({ ...UNLOAD, status: 'failed' })).toBe('Resolved: the unload of 12.50 USD has failed.');
});

it('offers to resolve only attempts that were sent and have not ended', () => {
  const statuses = Object.keys(ATTEMPT_WORDS) as (keyof typeof ATTEMPT_WORDS)[];
  expect(statuses.filter(canBeResolved)).toEqual(['pending', 'unknown', 'reversing', 'attention']);
  expect(statuses.filter((status) => !isOpen(status))).toEqual(['approved', 'declined', 'failed', 'reversed']);
  // Only statuses with a certain outcome say that no money moved.
  const certain = statuses.filter((status) => ATTEMPT_SENTENCES[status].includes('No money moved'));
  expect(certain).toEqual(['declined', 'failed', 'reversed']);
  const none = {
    late_approval_at: null,
    late_approval_settled_at: null,
    contradiction: null,
    contradiction_settled_at: null,
    break_id: null,
  };
  const known = { late_approval_at: '2026-01-31T09:30:00.000Z', break_id: 'brk_1' };
  for (const status of certain) {
    expect(sentenceOf({ status, ...none })).toBe(ATTEMPT_SENTENCES[status]);
    expect(sentenceOf({ status, ...none, ...known })).toMatch(/^The money did move: .* \(break brk_1\)\.$/);
  }
  const settled = { ...known, late_approval_settled_at: '2026-01-31T10:30:00.000Z' };
  expect(sentenceOf({ status: 'failed', ...none, ...settled })).toMatch(/ An operator settled that \(break brk_1\)\.$/);
  const contradicted = { ...none, status: 'approved', contradiction: 'not_executed', break_id: 'brk_1' } as const;
  expect(sentenceOf(contradicted)).toBe(
    'The processor carried it out. But later it said "not executed". An operator will find out which is true (break brk_1).',
  );
  expect(sentenceOf({ ...contradicted, contradiction_settled_at: '2026-01-31T09:30:00.000Z' })).toMatch(
    / An operator settled that \(break brk_1\)\.$/,
  );
});

it('says what each booking of a break means for its account', () => {
  const bookings = [
    { book_against: 'funding', from: 'funding', to: 'suspense', amount: 1000 },
    { book_against: 'loss', from: 'clearing', to: 'loss', amount: 1000 },
  ] as const;
  expect(bookingChoices({ bookings: [...bookings], currency: 'USD' })).toEqual([
    ['funding', 'The card program pays: 10.00 USD from funding to suspense'],
    ['loss', 'We keep the gain: 10.00 USD from clearing to loss'],
  ]);
});

it('counts waiting attempts', () => {
  expect(openText(NONE)).toBe('no open transfers');
  expect(openText({ ...NONE, ready: 3, unknown: 1 })).toBe('3 not sent yet, 1 outcome unknown');
});

it('counts everything at processors that needs an operator', () => {
  expect(attemptsText([{ open: NONE }])).toBeUndefined();
  expect(attemptsText([{ open: { ...NONE, attention: 1 } }])).toEqual({
    count: '1',
    text: 'transfer at a processor needs attention.',
  });
  expect(attemptsText([{ open: { ...NONE, attention: 2 } }, { open: { ...NONE, attention: 1 } }])).toEqual({
    count: '3',
    text: 'transfers at processors need attention.',
  });
  expect(breaksText(0, false)).toBeUndefined();
  expect(breaksText(1, false)).toEqual({ count: '1', text: 'break with a processor is open.' });
  expect(breaksText(100, true)).toEqual({ count: '100+', text: 'breaks with processors are open.' });
});

it('counts attempts without an outcome only if the oldest has waited for more than ten minutes', () => {
  const now = Date.parse('2030-01-31T12:00:00.000Z');
  const waiting = (at: string | null, open: object) => ({ open: { ...NONE, ...open }, oldest_unknown_since: at });
  expect(
    lateOutcomesText([waiting('2030-01-31T11:55:00.000Z', { unknown: 1 }), waiting(null, {})], now),
  ).toBeUndefined();
  expect(lateOutcomesText([waiting('2030-01-31T10:00:00.000Z', { unknown: 1 })], now)).toEqual({
    count: '1',
    text: 'transfer at a processor has had no outcome for 2 h.',
  });
  expect(lateOutcomesText([waiting('2030-01-31T10:00:00.000Z', { unknown: 1, reversing: 2 })], now)?.text).toBe(
    'transfers at processors have had no outcome for up to 2 h.',
  );
});

it('describes what the processor said without the numbers of lines, in the words of the console', () => {
  const line = `(line 1 of stl_${'0'.repeat(32)})`;
  expect(statementOf({ found: `approved, push of 10.00 USD ${line}, reversal of a pull of 5.00 USD ${line}` })).toBe(
    'approved, load of 10.00 USD, reversal of an unload of 5.00 USD',
  );
});

describe('a settlement file', () => {
  const fileOf = (outcomes: object, more: object = {}) =>
    ({
      status: 'matched',
      line_count: 1000,
      lines_received: 1000,
      lines_examined: 1000,
      outcomes: { matched: 0, reported: 0, differs: 0, duplicate: 0, missing_in_ledger: 0, ...outcomes },
      ...more,
    }) as SettlementFileRecord;

  it.each([
    [fileOf({ matched: 1000 }), 'All 1,000 lines match the books.'],
    [fileOf({ matched: 1 }, { line_count: 1 }), 'The line matches the books.'],
    [
      fileOf({ matched: 998, differs: 1, duplicate: 1 }),
      'Compared with the books: 998 of 1,000 match, 2 lines are different.',
    ],
    [
      fileOf({ matched: 999, reported: 1 }),
      'Compared with the books: 999 of 1,000 match, 1 line reported the outcome of an order.',
    ],
    [fileOf({ matched: 1000 }, { status: 'withdrawn' }), 'This file no longer counts.'],
  ])('has a result in words %#', (file, text) => {
    expect(resultText(file)).toBe(text);
  });

  it.each([
    ['receiving', { lines_received: 500, lines_examined: 0 }, '500 of 1,000 lines have arrived', 0.5],
    ['matching', { lines_examined: 250 }, '250 of 1,000 lines are compared', 0.25],
    ['withdrawing', { lines_examined: 0 }, '0 of 1,000 lines are withdrawn', 0],
  ])('has a progress while it is %s', (status, counts, text, share) => {
    const file = fileOf({}, { status, ...counts });
    expect(progressText(file)).toBe(text);
    expect(progressOf(file)).toBe(share);
  });
});
