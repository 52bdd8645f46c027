import { expect, test } from 'vitest';
import { boundsOf, isBounded } from './periods.ts';

const EXACT = { period: '', from: '', to: '' };
/** In the time zone of whoever runs the test. */
const at = (day: number, hour: number) => new Date(2030, 0, day, hour).getTime();
const iso = (day: number, hour: number) => new Date(at(day, hour)).toISOString();

test('a period ends now, and exact times are as they are', () => {
  const now = at(15, 12);
  expect(boundsOf({ ...EXACT, period: 'hour' }, now)).toEqual({ from: iso(15, 11) });
  expect(boundsOf({ ...EXACT, period: 'week' }, now)).toEqual({ from: new Date(now - 7 * 86_400_000).toISOString() });
  expect(boundsOf({ ...EXACT, period: 'gone' }, now)).toEqual({});
  expect(boundsOf({ ...EXACT, period: 'exact', to: 'then' }, now)).toEqual({ to: 'then' });
  expect([EXACT, { ...EXACT, period: 'exact' }, { ...EXACT, period: 'day' }].map(isBounded)).toEqual([
    false,
    false,
    true,
  ]);
});

test('last night is the one before the day, and in the evening the one that has begun', () => {
  const night = { ...EXACT, period: 'night' };
  expect(boundsOf(night, at(15, 9))).toEqual({ from: iso(14, 18), to: iso(15, 8) });
  expect(boundsOf(night, at(15, 3))).toEqual({ from: iso(14, 18), to: iso(15, 8) });
  expect(boundsOf(night, at(15, 20))).toEqual({ from: iso(15, 18), to: iso(16, 8) });
});
