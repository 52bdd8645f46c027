import { expect, test } from 'vitest';
import type { AttemptRecord } from '../../sdk/client.ts';
import {
  beginningOf,
  failuresText,
  isStatusFilter,
  kindText,
  reasonOf,
  resultText,
  statusOf,
  typesIn,
} from './webhooks.ts';

const NOW = Date.parse('2026-01-31T09:30:00.000Z');
const at = (seconds: number) => new Date(NOW + seconds * 1000).toISOString();
const WORKING = {
  status: 'enabled',
  status_reason: null,
  failures: 0,
  failing_since: null,
  last_failure_at: at(-7_200),
  next_attempt_at: null,
} as const;
const FAILING = { ...WORKING, failures: 4, failing_since: at(-9), last_failure_at: at(-3), next_attempt_at: at(25) };
const PAUSED = { ...FAILING, status: 'paused', status_reason: 'failing' } as const;
const DISABLED = { ...PAUSED, status: 'disabled', next_attempt_at: null } as const;

test.each([
  [WORKING, 'enabled', undefined],
  [FAILING, 'failing', '4 failures in 6 s, next try in 25 s'],
  [PAUSED, 'paused', 'after 4 failures in 6 s, next try in 25 s'],
  [{ ...PAUSED, failures: 1, last_failure_at: at(-9) }, 'paused', 'after 1 failure, next try in 25 s'],
  [{ ...PAUSED, next_attempt_at: at(-1) }, 'paused', 'after 4 failures in 6 s, next try now'],
  [{ ...DISABLED, status_reason: 'requested' }, 'disabled', 'on request'],
  [{ ...DISABLED, status_reason: 'gone' }, 'disabled', 'because the URL responded with 410 Gone'],
  [DISABLED, 'disabled', 'after 120 hours of failures'],
] as const)('shows %j as %s %s', (webhook, status, reason) => {
  expect(statusOf(webhook)).toBe(status);
  expect(reasonOf(webhook, NOW)).toBe(reason);
});

test('says why an event was sent', () => {
  const kinds: readonly (readonly [AttemptRecord['kind'], number])[] = [
    ['event', 1],
    ['retry', 3],
    ['probe', 2],
    ['replay', 1],
    ['resend', 1],
    ['test', 1],
  ];
  expect(kinds.map(([kind, count]) => kindText({ kind, try: count }))).toEqual([
    'First try',
    'Retry 2',
    'Try while paused',
    'Replay',
    'Resent',
    'Test',
  ]);
});

test('says the status of an attempt, or what failed', () => {
  expect(resultText({ status: 503, error: null })).toBe('503');
  expect(resultText({ status: null, error: 'connection_refused' })).toBe('connection refused');
  expect(resultText({ status: null, error: 'answer_timeout' })).toBe('response timeout');
});

test('reads the types in a field, and recognizes status filters', () => {
  expect(typesIn(' transfer.*, card.created\nkey.* ')).toEqual(['transfer.*', 'card.created', 'key.*']);
  expect(typesIn('')).toEqual([]);
  expect(['404', '5xx', 'none', '', '40', '600', 'xx'].map(isStatusFilter)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});

test('shows the start of a response on one line', () => {
  expect(beginningOf('{"error":\n  "busy"}\n')).toBe('{"error": "busy"}');
  expect(beginningOf('x'.repeat(41))).toBe(`${'x'.repeat(40)}…`);
});

test('summarizes a page of failed attempts, and says what happens next', () => {
  const to = (...ids: string[]) => ids.map((webhook_id) => ({ webhook_id }));
  const next = 'Each event is retried for about three days. Resend sends it now.';
  expect(failuresText(to('a'), true)).toBe(`1 attempt to 1 webhook failed. ${next}`);
  expect(failuresText(to('a', 'b', 'a'), true)).toBe(`3 attempts to 2 webhooks failed. ${next}`);
  expect(failuresText(to('a', 'b'), false)).toBe(`These 2 attempts to 2 webhooks failed. There are more. ${next}`);
});
