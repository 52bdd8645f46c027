import { expect, test } from 'vitest';
import { toErrorSeries } from './error-series.ts';

const HOUR = 3_600;
const FROM = '2026-01-31T00:00:00.000Z';
const count = (hour: number, code: string, number: number) => ({
  start: new Date(Date.parse(FROM) + hour * HOUR * 1000).toISOString(),
  code,
  type: 'Request Error' as const,
  count: number,
});

test('includes intervals without errors, and orders codes by their counts', () => {
  const { times, series, totals } = toErrorSeries({
    interval: 'hour',
    from: FROM,
    to: '2026-01-31T03:00:00.000Z',
    data: [count(0, 'b', 1), count(2, 'a', 4), count(2, 'b', 2)],
    dropped: 0,
  });
  expect(times.map((time) => time - (times[0] ?? 0))).toEqual([0, HOUR, 2 * HOUR]);
  expect(series.map(({ label, values }) => [label, values])).toEqual([
    ['a', [0, 0, 4]],
    ['b', [1, 0, 2]],
  ]);
  expect(totals.map((total) => [total.code, total.count])).toEqual([
    ['a', 4],
    ['b', 3],
  ]);
});

test('joins rare codes into one series, so that the colors stay distinguishable', () => {
  const data = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((code, index) => count(0, code, 10 - index));
  const { series, totals } = toErrorSeries({
    interval: 'day',
    from: FROM,
    to: '2026-02-01T00:00:00.000Z',
    data,
    dropped: 0,
  });
  expect(series.map(({ label }) => label)).toEqual(['a', 'b', 'c', 'd', 'e', '2 other codes']);
  expect(series.at(-1)?.values).toEqual([9]);
  expect(new Set(series.map(({ tone }) => tone)).size).toBe(6);
  expect(totals).toHaveLength(7);
});

test('returns no series if there are no errors', () => {
  const none = toErrorSeries({ interval: 'hour', from: FROM, to: FROM, data: [], dropped: 0 });
  expect(none).toEqual({ times: [], series: [], totals: [] });
});
