import { expect, test } from 'vitest';
import { readWait } from './request-head.ts';

test.each([
  ['wait=4', 4],
  ['wait=0', 0],
  ['Wait = "10"', 10],
  ['respond-async, wait=5', 5],
  ['return=minimal; foo="a, wait=9", wait=3;x=1', 3],
  ['wait=2, wait=7', 2],
  ['wait', undefined],
  ['wait=', undefined],
  ['wait=soon, wait=5', undefined],
  ['wait=-1', undefined],
  ['wait=1.5', undefined],
  ['awaits=5', undefined],
  ['foo="wait=5', undefined],
  ['', undefined],
])('reads Prefer: %j as a wait in seconds: %s', (header, seconds) => {
  expect(readWait(header)).toBe(seconds);
});

test('takes linear time for a long header', () => {
  const began = process.cpuUsage();
  expect(readWait(`${'wait'.repeat(2_000)}="${'\\'.repeat(6_000)}`)).toBeUndefined();
  expect(readWait(`${'"'.repeat(8_001)},wait=1`)).toBeUndefined();
  expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
});
