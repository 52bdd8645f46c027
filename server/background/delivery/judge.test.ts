import { expect, test } from 'vitest';
import { readRetryAfter } from './judge.ts';

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
])('Retry-After %j', (text, milliseconds) => {
  expect(readRetryAfter(text, NOW)).toBe(milliseconds);
});
