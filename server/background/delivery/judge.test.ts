import { expect, test } from 'vitest';
import { readRetryAfter, redactAnswer } from './judge.ts';

const NOW = Date.parse('2026-11-22T08:00:00Z');

test.each([
  ['120', 120_000],
  [' 0 ', 0],
  ['9999999999', 1_000_000_000],
  ['Sun, 22 Nov 2026 08:02:00 GMT', 120_000],
  ['Sun, 22 Nov 2026 07:00:00 GMT', 0],
  ['-5', null],
  ['1.5', null],
  ['2026', 2_026_000],
  ['2026-11-22', null],
  ['soon', null],
  ['', null],
  [null, null],
])('reads the Retry-After header %j as a wait of %j ms', (text, milliseconds) => {
  expect(readRetryAfter(text, NOW)).toBe(milliseconds);
});

const headers = { Authorization: 'Bearer swordfish-99', 'X-Room': 'b12' };

test.each([
  ['a header', 'got Bearer swordfish-99', 'got [redacted]'],
  ['a header without its scheme', 'token=swordfish-99;', 'token=[redacted];'],
  ['a header that is cut off', `${'x'.repeat(10)}swordfis`, `${'x'.repeat(10)}[redacted]`],
  ['a card number', 'card 4111 1111 1111 1111', 'card [redacted]'],
  ['an API key', 'key ts_live_0123456789abcdef0123', 'key [redacted]'],
])('redacts %s', (_, text, kept) => {
  expect(redactAnswer(text, headers).replaceAll(/\[card number redacted\]|\[redacted[^\]]*\]/g, '[redacted]')).toBe(
    kept,
  );
});

test('does not redact a short value, which could occur in any response', () => {
  expect(redactAnswer('room b12 is full', headers)).toBe('room b12 is full');
});

test('truncates a long response', () => {
  expect(redactAnswer('ab '.repeat(2_000), {}).length).toBe(1_025);
});
