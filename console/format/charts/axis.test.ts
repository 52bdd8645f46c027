import fc from 'fast-check';
import { expect, test } from 'vitest';
import { timeLabel, timeTicks, valueTicks } from './axis.ts';

const HOUR = 3_600;
const DAY = 24 * HOUR;
const utc = () => 0;

test('has at least three ticks for flat and small counts, all of them whole', () => {
  expect([0, 1, 2, 3, 4].map((max) => valueTicks(max, true))).toEqual([
    [0, 1, 2],
    [0, 1, 2],
    [0, 1, 2, 3],
    [0, 1, 2, 3, 4],
    [0, 2, 4, 6],
  ]);
});

test('divides rates and latencies between two whole numbers', () => {
  expect(valueTicks(0.2, false)).toEqual([0, 0.1, 0.2, 0.3]);
  expect(valueTicks(1, false)).toEqual([0, 0.5, 1, 1.5]);
  expect(valueTicks(72, false)).toEqual([0, 20, 40, 60, 80]);
});

test('has three to five ticks from 0 to a number above every maximum', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), fc.boolean(), (max, isWhole) => {
      fc.pre(max === 0 || max > 1e-9);
      const ticks = valueTicks(max, isWhole);
      expect(ticks.length).toBeGreaterThanOrEqual(3);
      expect(ticks.length).toBeLessThanOrEqual(5);
      expect(ticks[0]).toBe(0);
      expect(ticks.at(-1)).toBeGreaterThan(max);
      expect(new Set(ticks).size).toBe(ticks.length);
      if (isWhole) expect(ticks.every(Number.isInteger)).toBe(true);
    }),
  );
});

test('has at least three ticks in a period of any length, and no more than fit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2e9 }), fc.integer({ min: 60, max: 90 * DAY }), (first, length) => {
      for (const most of [3, 4, 7, 12]) {
        const { times, stepSeconds } = timeTicks(first, first + length, most, utc);
        expect(times.length).toBeGreaterThanOrEqual(3);
        // Sometimes no step has the wanted number. The next finer step then has a few more.
        expect(times.length).toBeLessThanOrEqual(Math.max(most, 7));
        expect(times.every((time) => time % stepSeconds === 0 && time >= first && time <= first + length)).toBe(true);
      }
    }),
  );
});

test('shows a quarter of an hour in steps of five minutes, and a day in steps of six hours', () => {
  const end = Date.UTC(2030, 0, 31, 12, 20) / 1000;
  expect(timeTicks(end - 900, end, 4, utc)).toEqual({
    times: [end - 900, end - 600, end - 300, end],
    stepSeconds: 300,
  });
  const { times } = timeTicks(end - DAY, end, 5, utc);
  expect(times.map((time) => new Date(time * 1000).getUTCHours())).toEqual([18, 0, 6, 12]);
});

test('puts ticks at local midnight, even across a change of the clock', () => {
  const change = Date.UTC(2030, 2, 31, 1) / 1000;
  const berlin = (seconds: number) => (seconds < change ? HOUR : 2 * HOUR);
  const { times } = timeTicks(change - 2 * DAY, change + 2 * DAY, 5, berlin);
  expect(times.map((time) => new Date(time * 1000).toISOString().slice(5, 16))).toEqual([
    '03-29T23:00',
    '03-30T23:00',
    '03-31T22:00',
    '04-01T22:00',
  ]);
});

test('labels ticks with times, and with dates if they are days', () => {
  const noon = new Date(2030, 0, 31, 12, 5, 7).getTime() / 1000;
  const midnight = new Date(2030, 0, 31).getTime() / 1000;
  expect([timeLabel(noon, 5), timeLabel(noon, 300)]).toEqual(['12:05:07', '12:05']);
  expect([timeLabel(midnight, HOUR), timeLabel(midnight, DAY), timeLabel(midnight, 60)]).toEqual([
    '31 Jan',
    '31 Jan',
    '00:00',
  ]);
});
