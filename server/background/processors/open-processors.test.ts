import { expect, test } from 'vitest';
import { Breaker } from './open-processors.ts';

const GOOD = { outcome: 'declined' } as const;
const SILENT = { outcome: 'unknown' } as const;
const UNSENT = { outcome: 'not_sent' } as const;

test('a breaker opens when five requests in a row have no valid answer', () => {
  const breaker = new Breaker();
  for (const answer of [SILENT, SILENT, SILENT, SILENT, GOOD, UNSENT, SILENT, SILENT, UNSENT]) {
    expect(breaker.note(answer, 0)).toBeUndefined();
  }
  expect(breaker.note(SILENT, 0)).toBe('The last 5 requests had no valid answer.');
  breaker.reset();
  expect(breaker.note(SILENT, 0)).toBeUndefined();
});

test('a breaker opens when half of at least ten answers in 30 seconds are invalid', () => {
  const breaker = new Breaker();
  for (let pair = 0; pair < 4; pair += 1) {
    expect(breaker.note(SILENT, pair)).toBeUndefined();
    expect(breaker.note(GOOD, pair)).toBeUndefined();
  }
  expect(breaker.note(GOOD, 5)).toBeUndefined();
  expect(breaker.note(SILENT, 6)).toBe('5 of the last 10 requests had no valid answer.');
});

test('a breaker forgets answers after 30 seconds', () => {
  const breaker = new Breaker();
  for (let pair = 0; pair < 4; pair += 1) {
    breaker.note(SILENT, 0);
    breaker.note(GOOD, 0);
  }
  breaker.note(GOOD, 0);
  expect(breaker.note(SILENT, 30_000)).toBeUndefined();
});
