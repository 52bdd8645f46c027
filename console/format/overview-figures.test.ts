import { expect, test } from 'vitest';
import type { Overview } from '../../sdk/client.ts';
import { formatRate, overviewFigures } from './overview-figures.ts';

const NOW = {
  seconds: 60,
  transfers_per_second: 41.7,
  requests: 2_510,
  succeeded: 2_500,
  refused: 6,
  invalid: 1,
  failed: 3,
  success_ratio: 0.996,
  p50_milliseconds: 3.4,
  p99_milliseconds: 11,
};
const QUIET = {
  ...{ transfers_per_second: 0, requests: 0, succeeded: 0, refused: 0, invalid: 0, failed: 0 },
  ...{ seconds: 60, success_ratio: null, p50_milliseconds: null, p99_milliseconds: null },
};

/** Fifteen minutes with the same values in each interval. */
const steady = (value: number | null, count = 180) => Array<number | null>(count).fill(value);
const recentOf = (count: number) => ({
  ends_at: '2030-01-31T12:00:00.000Z',
  interval_seconds: 5,
  ...{ transfers: steady(10, count), succeeded: steady(8, count), refused: steady(1, count) },
  ...{ invalid: steady(1, count), failed: steady(0, count), lane_waiting: steady(0, count) },
  ...{ p50_milliseconds: steady(2, count), p99_milliseconds: steady(9, count), errors: [] },
});
const figuresOf = (more: Partial<Overview> = {}) =>
  overviewFigures({ all: null, now: NOW, recent: recentOf(180), lane_waiting: 0, ...more });

test('shows each figure with its parts, and with its value in the minutes before', () => {
  expect(figuresOf({ lane_waiting: 4 }).map(({ name, value, note, before }) => [name, value, note, before])).toEqual([
    ['Transfers', '2,502', '41.7 per second, 4 queued now', '120 a minute'],
    ['Refused', '0.28 %', '6 declined, 1 other client error', '20.00 %'],
    ['Failed', '0.12 %', '3 of 2,510 requests', '0 %'],
    ['Latency, p99', '11 ms', 'half within 3.4 ms', 'usually 9 ms'],
  ]);
});

test('colors failures, and refusals only if they are many', () => {
  expect(figuresOf().map(({ tone }) => tone)).toEqual(['good', 'quiet', 'bad', 'process']);
  const refused = { ...NOW, failed: 0, refused: 1_000 };
  expect(figuresOf({ now: refused }).map(({ tone }) => tone)).toEqual(['good', 'waiting', 'quiet', 'process']);
});

test('uses the figures of all processes if they are known', () => {
  expect(figuresOf({ all: { ...NOW, transfers_per_second: 100 } })[0]?.value).toBe('6,000');
});

test('has no shares and no latency without requests, and nothing to compare with after a start', () => {
  const young = figuresOf({ now: QUIET, recent: recentOf(11) });
  expect(young.map(({ value, note, before }) => [value, note, before])).toEqual([
    ['0', '0 per second', 'no earlier minutes'],
    [undefined, 'no requests', 'no earlier requests'],
    [undefined, 'no requests', 'no earlier requests'],
    [undefined, 'no requests', 'no earlier requests'],
  ]);
  // A part of a minute would look like fewer transfers.
  expect(young[0]?.trend.every((value) => value === null)).toBe(true);
});

test('has sparklines of a value per 15 seconds, with a gap where the process was suspended', () => {
  const recent = recentOf(36);
  const transfers = [...steady(10, 12), ...steady(null, 12), ...steady(5, 12)];
  const [first] = figuresOf({ recent: { ...recent, transfers } });
  expect(first?.trend).toEqual([null, null, null, 120, null, null, null, null, null, null, null, 60]);
  const [, refused] = figuresOf({ recent: { ...recent, succeeded: [...steady(null, 24), ...steady(8, 12)] } });
  expect(refused?.trend.slice(0, 8)).toEqual(Array(8).fill(null));
  expect(refused?.trend.at(-1)).toBe(0.2);
});

test('formats rates with as many digits as are useful', () => {
  expect([0, 0.0167, 4.21, 41.7, 2_230.4].map(formatRate)).toEqual(['0', '0.017', '4.2', '41.7', '2,230']);
});
