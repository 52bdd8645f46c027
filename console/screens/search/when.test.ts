import { expect, test } from 'vitest';
import { readWhen } from './when.ts';

const at = (day: number, hour: number, minute = 0) => new Date(2026, 0, day, hour, minute).toISOString();
const NOW = new Date(2026, 0, 15, 12).getTime();

test.each([
  ['75 yesterday 14:00', '75', at(14, 13, 30), at(14, 14, 30)],
  ['Priya 75 today', 'Priya 75', at(15, 0), at(16, 0)],
  ['75 USD 9:05', '75 USD', at(15, 8, 35), at(15, 9, 35)],
  // A time of day that is later than now means yesterday.
  ['75 at 13:00', '75', at(14, 12, 30), at(14, 13, 30)],
  ['$75.50 2026-01-02 08:00', '$75.50', at(2, 7, 30), at(2, 8, 30)],
])('reads the time in "%s"', (text, q, from, to) => {
  expect(readWhen(text, NOW)).toEqual({ q, from, to });
});

test.each(['75', 'Priya 75', 'Yesterday Ltd', 'inv-2026-01-02', '75 2026-99-99', 'yesterday 14:00'])(
  'reads no time in "%s"',
  (text) => {
    expect(readWhen(text, NOW)).toEqual({ q: text, from: '', to: '' });
  },
);
