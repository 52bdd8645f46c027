import { expect, test } from 'vitest';
import type { Copy, Manifest } from './manifest.ts';
import { findSurplus } from './retention.ts';
import { segmentName } from './wal-files.ts';

const DAY = 86_400_000;
const NOW = Date.parse('2030-03-01T00:00:00Z');

function copyOf(daysAgo: number, first: number, timeline = 1): Copy {
  const endedAt = new Date(NOW - daysAgo * DAY).toISOString();
  const position = `0/${first.toString(16).toUpperCase()}000028`;
  const manifest = { timeline, startPosition: position, stopPosition: position, endedAt } as Manifest;
  const name = `${99 - daysAgo}`;
  return { name, path: `/backup/base/${name}`, manifest, problem: undefined };
}

const walOf = (timeline: number, ...numbers: readonly number[]) =>
  numbers.map((number) => segmentName({ timeline, number }));
const keptFrom = new Date(NOW - 14 * DAY);
const surplusOf = (copies: readonly Copy[], names: readonly string[], bad: readonly Copy[] = []) => {
  const surplus = findSurplus(copies, names, keptFrom, (copy) => !bad.includes(copy));
  return { copies: surplus.copies, wal: surplus.wal };
};

test('keeps the last copy before the window and its WAL, so that the beginning of the window can be restored', () => {
  const [oldest, before, inside, last] = [copyOf(23, 2), copyOf(16, 4), copyOf(9, 6), copyOf(2, 8)];
  const note = `${segmentName({ timeline: 1, number: 2 })}.00000028.backup`;
  const names = [...walOf(1, 2, 3, 4, 5, 6, 7, 8, 9), note, '00000002.history'];
  expect(surplusOf([oldest, before, inside, last], names)).toEqual({
    copies: [oldest],
    wal: [...walOf(1, 2, 3), note],
  });
});

test('deletes copies before a copy that ended exactly at the beginning of the window', () => {
  const [older, exact] = [copyOf(15, 2), copyOf(14, 4)];
  expect(surplusOf([older, exact], walOf(1, 2, 3, 4))).toEqual({ copies: [older], wal: walOf(1, 2, 3) });
});

test('keeps the last good copy, even if it is old or followed by damaged copies', () => {
  const [good, bad] = [copyOf(100, 2), copyOf(50, 4)];
  expect(surplusOf([good, bad], walOf(1, 2, 3, 4, 5), [bad])).toEqual({ copies: [], wal: [] });
  const damaged: Copy = { ...copyOf(30, 3), manifest: undefined, problem: 'its manifest is damaged' };
  expect(surplusOf([damaged], walOf(1, 1, 2, 3))).toEqual({ copies: [], wal: [] });
  expect(surplusOf([], walOf(1, 1))).toEqual({ copies: [], wal: [] });
});

test('deletes an unusable copy if a good copy from before the window is newer', () => {
  const [bad, good] = [copyOf(40, 2), copyOf(20, 4)];
  expect(surplusOf([bad, good], walOf(1, 2, 3, 4), [bad])).toEqual({ copies: [bad], wal: walOf(1, 2, 3) });
});

test('deletes the WAL before a copy, on its timeline and on older ones, and keeps the rest', () => {
  const copy = copyOf(20, 6, 2);
  const names = [...walOf(1, 4, 5, 6, 7), ...walOf(2, 5, 6), ...walOf(3, 4)];
  expect(surplusOf([copy], names).wal).toEqual([...walOf(1, 4, 5), ...walOf(2, 5)]);
});
