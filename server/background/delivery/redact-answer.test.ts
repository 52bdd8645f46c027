import { expect, test } from 'vitest';
import { redactAnswer } from './redact-answer.ts';

const headers = { Authorization: 'Bearer swordfish-99', 'X-Room': 'b12' };

test.each([
  ['a header', 'got Bearer swordfish-99', 'got [redacted]'],
  ['a header without its scheme', 'token=swordfish-99;', 'token=[redacted];'],
  ['a header that is cut off', `${'x'.repeat(10)}swordfis`, `${'x'.repeat(10)}[redacted]`],
  ['a card number', 'card 4111 1111 1111 1111', 'card [redacted]'],
  ['an API key', 'key ts_live_0123456789abcdef0123', 'key [redacted]'],
])('%s is redacted', (_, text, kept) => {
  expect(redactAnswer(text, headers).replaceAll(/\[card number redacted\]|\[redacted[^\]]*\]/g, '[redacted]')).toBe(
    kept,
  );
});

test('a short value, which could be part of any text, is not redacted', () => {
  expect(redactAnswer('room b12 is full', headers)).toBe('room b12 is full');
});

test('a long answer is truncated', () => {
  expect(redactAnswer('ab '.repeat(2_000), {}).length).toBe(1_025);
});
