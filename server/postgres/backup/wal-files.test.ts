import { expect, test } from 'vitest';
import {
  followChain,
  historyName,
  parseHistory,
  parseHistoryName,
  parsePosition,
  parseSegment,
  SEGMENT_BYTES,
  segmentAt,
  segmentName,
  timelineOfSegment,
} from './wal-files.ts';

test('converts between names and numbers of files, even when the first half of the number changes', () => {
  for (const number of [0, 1, 255, 256, 257, 65_536, 0xffff_ffff]) {
    const segment = { timeline: 17, number };
    expect(parseSegment(segmentName(segment))).toEqual(segment);
  }
  expect(segmentName({ timeline: 1, number: 256 })).toBe('000000010000000100000000');
  expect(parseSegment('00000002.history')).toBeUndefined();
  expect(parseSegment('000000010000000000000002.00000028.backup')).toBeUndefined();
  expect(parseHistoryName(historyName(26))).toBe(26);
  expect(parseHistoryName('000000010000000000000002')).toBeUndefined();
});

test('reads positions, and finds their files', () => {
  expect(parsePosition('1/2A000060')).toBe(0x1_2a00_0060n);
  expect(segmentAt(parsePosition('1/2A000060'))).toBe(256 + 0x2a);
  expect(segmentAt(BigInt(SEGMENT_BYTES) - 1n)).toBe(0);
  expect(() => parsePosition('latest')).toThrow('not a position');
});

const HISTORY = '1\t0/5000060\tbefore 2026-11-22\n\n2\t0/9000000\tno recovery target specified\n';

test('uses the next timeline for the file in which a timeline ended', () => {
  const branches = parseHistory(HISTORY);
  expect(branches).toEqual([
    { timeline: 1, end: 0x500_0060n },
    { timeline: 2, end: 0x900_0000n },
  ]);
  const timelines = [4, 5, 8, 9, 10].map((number) => timelineOfSegment(number, 3, branches));
  expect(timelines).toEqual([1, 2, 2, 3, 3]);
});

test('ends a chain at the first missing file, and counts it as broken only if later files of its timelines exist', () => {
  const branches = parseHistory(HISTORY);
  const named = (...segments: readonly (readonly [number, number])[]) =>
    new Set(segments.map(([timeline, number]) => segmentName({ timeline, number })));
  // The file 1:6 was written on the first timeline after the second timeline had begun.
  const whole = named([1, 3], [1, 4], [1, 5], [1, 6], [2, 5], [2, 6], [2, 7], [2, 8], [3, 9]);
  expect(followChain(whole, 3, 3, branches)).toEqual({
    last: { timeline: 3, number: 9 },
    isBroken: false,
    missing: { timeline: 3, number: 10 },
  });
  expect(followChain(whole, 3, 1, [])).toMatchObject({ last: { timeline: 1, number: 6 }, isBroken: false });
  const broken = named([1, 3], [1, 4], [2, 5], [2, 7]);
  expect(followChain(broken, 3, 3, branches)).toMatchObject({ isBroken: true, missing: { timeline: 2, number: 6 } });
  expect(followChain(broken, 2, 3, branches)).toMatchObject({ last: undefined, isBroken: true });
});
