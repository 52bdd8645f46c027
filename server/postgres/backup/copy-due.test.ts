import { expect, test } from 'vitest';
import type { Copy, Manifest } from './manifest.ts';
import { findLastCopy, isCopyDue } from './retention.ts';
import { segmentName } from './wal-files.ts';

const ENDED = Date.parse('2030-03-01T00:00:00Z');
const WEEK = 7 * 86_400_000;

const position = '0/3000028';
const manifest = {
  timeline: 1,
  startPosition: position,
  stopPosition: position,
  endedAt: new Date(ENDED).toISOString(),
} as Manifest;
const last: Copy = { name: '20300301T000000Z', path: '/base', manifest, problem: undefined };
const walOf = (...numbers: readonly number[]) => new Set(numbers.map((number) => segmentName({ timeline: 1, number })));
const isDue = (after: number, names = walOf(2, 3, 4, 5), timeline = 1, copy: Copy | undefined = last) =>
  isCopyDue(copy, names, timeline, new Date(ENDED + after));

test('a copy is due after a week, and not before', () => {
  expect([isDue(0), isDue(WEEK - 1), isDue(WEEK)]).toEqual([false, false, true]);
});

test('a copy is due if there is no usable one, and on a new timeline', () => {
  expect(isCopyDue(undefined, walOf(), 1, new Date())).toBe(true);
  expect(isDue(0, walOf(3), 1, { ...last, manifest: undefined, problem: 'its manifest is damaged' })).toBe(true);
  expect(isDue(0, walOf(3), 2)).toBe(true);
});

test('a copy is due if the WAL of the last copy is missing or has a gap after it', () => {
  expect(isDue(0, walOf(3, 4))).toBe(false);
  expect(isDue(0, walOf(3, 5))).toBe(true);
  expect(isDue(0, walOf(4, 5))).toBe(true);
  expect(isDue(0, walOf())).toBe(true);
});

test('a copy is not delayed by a copy from before the clock was set back', () => {
  const earlier: Copy = {
    ...last,
    name: '20300201T000000Z',
    manifest: { ...manifest, endedAt: '2030-02-01T00:00:00Z' },
  };
  const damaged: Copy = { ...last, name: '20300302T000000Z', manifest: undefined, problem: 'its manifest is damaged' };
  const copies = [earlier, last, damaged];
  const found = (after: number) => findLastCopy(copies, new Date(ENDED + after));
  expect([found(WEEK), found(0), found(-3_600_000)]).toEqual([last, last, last]);
  expect(found(-2 * 86_400_000)).toBe(earlier);
  expect(findLastCopy([last], new Date(ENDED - WEEK))).toBeUndefined();
});
