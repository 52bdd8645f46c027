import { expect, test } from 'vitest';
import { type Area, barPaths, gapsOf, linePath, maxOf, type Series } from './paths.ts';

const TIMES = [0, 10, 20, 30, 40];
const AREA: Area = { width: 400, height: 100, first: 0, last: 40, top: 10 };
const series = (values: Series['values']): Series => ({ label: 'created', values, tone: 'good' });

test('draws a line through its values, and a line at 0 for zeros', () => {
  expect(linePath(TIMES, [0, 5, 10, 0, 0], AREA)).toBe('M0 100L100 50L200 0L300 100L400 100');
});

test('interrupts a line where there is no value, and shows a single value as a dot', () => {
  expect(linePath(TIMES, [0, 5, null, null, 10], AREA)).toBe('M0 100L100 50M400 0h0');
  expect(linePath(TIMES, [null, null, null, null, null], AREA)).toBe('');
});

test('stacks bars, and draws none for 0 or a missing value', () => {
  const area = { ...AREA, first: -5, last: 45 };
  const [low, high] = barPaths(TIMES, [series([5, 0, null, 0, 0]), series([5, 0, null, 2, 0])], area);
  expect(low).toBe('M20 100V50h40V100z');
  expect(high).toBe('M20 50V0h40V50zM260 100V80h40V100z');
});

test('finds the maximum of lines, and of the sums of stacked bars', () => {
  const both = [series([1, 2, null]), series([3, 4, null])];
  expect([maxOf(both, false), maxOf(both, true), maxOf([], true)]).toEqual([4, 6, 0]);
});

test('joins missing values into gaps, which reach halfway to the next value', () => {
  expect(gapsOf(TIMES, [null, null, 1, null, 0])).toEqual([
    { from: -5, to: 15 },
    { from: 25, to: 35 },
  ]);
  expect(gapsOf(TIMES, [0, 0, 0, 0, 0])).toEqual([]);
});
