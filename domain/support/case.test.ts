import { expect, test } from 'vitest';
import {
  isUrgent,
  MAX_CASE_MESSAGES,
  partsOf,
  refusalOf,
  SEVERITIES,
  URGENCIES,
  urgencyOf,
  urgencyWord,
} from './case.ts';
import { covers } from './incident.ts';

const DAY = 86_400_000;
const OPEN = { status: 'open', resolvedAt: null, messageCount: 0 } as const;
const RESOLVED = { status: 'resolved', resolvedAt: 0, messageCount: 0 } as const;

test('allows only the actions that fit the state of a case', () => {
  for (const action of ['write', 'resolve', 'close'] as const) {
    expect(refusalOf(action, OPEN, 0)).toBeUndefined();
    expect(refusalOf(action, { ...OPEN, status: 'closed' }, 0)).toBe('closed');
  }
  expect(refusalOf('resolve', RESOLVED, 0)).toBe('resolved');
  expect(refusalOf('write', RESOLVED, 30 * DAY - 1)).toBeUndefined();
  expect(refusalOf('write', RESOLVED, 30 * DAY)).toBe('resolved_long_ago');
  expect(refusalOf('close', RESOLVED, 31 * DAY)).toBeUndefined();
  expect(refusalOf('write', { ...OPEN, messageCount: MAX_CASE_MESSAGES }, 0)).toBe('full');
});

test('derives urgency from the error first, then the severity, and alerts from the error only', () => {
  const order = [
    urgencyOf({ type: 'Server Error', moneyMoved: 'no', severity: 'high' }),
    urgencyOf({ type: 'Request Error', moneyMoved: 'unknown', severity: 'low' }),
    urgencyOf({ type: 'Process Error', moneyMoved: 'no', severity: 'critical' }),
    urgencyOf({ type: 'Request Error', moneyMoved: 'no', severity: 'critical' }),
    urgencyOf({ type: null, moneyMoved: null, severity: 'critical' }),
  ];
  expect(order).toEqual(order.toSorted((one, other) => one - other));
  expect(new Set(order).size).toBe(order.length);
  expect(order.map(isUrgent)).toEqual([true, true, false, false, false]);
  expect(order.map((urgency) => Object.values(partsOf(urgency)))).toEqual([
    ['urgent', 'high'],
    ['urgent', 'low'],
    ['process_error', 'critical'],
    ['request_error', 'critical'],
    ['no_error', 'critical'],
  ]);
  expect(() => partsOf(40)).toThrow(RangeError);
});

test('names the urgency of every case in the order of the queue, by its error and severity', () => {
  const errors = [
    ['Server Error', 'no', 'urgent urgent urgent urgent'],
    ['Server Error', 'unknown', 'urgent urgent urgent urgent'],
    ['Server Error', 'yes', 'urgent urgent urgent urgent'],
    ['Process Error', 'unknown', 'urgent urgent urgent urgent'],
    ['Request Error', 'unknown', 'urgent urgent urgent urgent'],
    [null, 'unknown', 'urgent urgent urgent urgent'],
    ['Process Error', 'no', 'high high high high'],
    ['Process Error', 'yes', 'high high high high'],
    ['Request Error', 'no', 'high high normal normal'],
    ['Request Error', 'yes', 'high high normal normal'],
    [null, null, 'normal normal low low'],
    [null, 'no', 'normal normal low low'],
    [null, 'yes', 'normal normal low low'],
  ] as const;
  const all = errors.flatMap(([type, moneyMoved, words]) =>
    SEVERITIES.map((severity, at) => {
      const urgency = urgencyOf({ type, moneyMoved, severity });
      const word = urgencyWord(urgency);
      expect(word, `${type}, ${moneyMoved}, ${severity}`).toBe(words.split(' ')[at]);
      expect(isUrgent(urgency)).toBe(word === 'urgent');
      return { urgency, rank: URGENCIES.indexOf(word) };
    }),
  );
  const ranks = all.toSorted((one, other) => one.urgency - other.urgency).map(({ rank }) => rank);
  expect(ranks).toEqual(ranks.toSorted((one, other) => one - other));
  expect(() => urgencyWord(40)).toThrow(RangeError);
});

test('an incident covers an error in its scope and, if it names codes, only with one of these codes', () => {
  const error = { programId: 'p', operation: 'get_card', code: 'unknown_get_card' };
  const all = { scope: 'all', programId: null, operation: null, codes: [] } as const;
  expect(covers(all, error)).toBe(true);
  expect(covers(all, { ...error, code: null })).toBe(false);
  expect(covers({ ...all, codes: ['service_disabled'] }, error)).toBe(false);
  const ofProgram = { ...all, scope: 'program', programId: 'p' } as const;
  expect(covers(ofProgram, error)).toBe(true);
  expect(covers(ofProgram, { ...error, programId: undefined })).toBe(false);
  const ofOperation = { ...all, scope: 'operation', operation: 'get_card' } as const;
  expect(covers(ofOperation, error)).toBe(true);
  expect(covers(ofOperation, { ...error, operation: undefined })).toBe(false);
});
