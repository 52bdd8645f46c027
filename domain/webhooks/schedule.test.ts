import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FailedAttempt, MAX_TRIES, probePause, retryPause } from './schedule.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const plain: FailedAttempt = { kind: 'failed', retryAfterMilliseconds: null, random: 0.5 };
const near = (value: number | null): number | null => (value === null ? null : Math.round(value));

test('tries to send an event at most ten times, within three days', () => {
  const pauses = Array.from({ length: MAX_TRIES }, (_, index) => near(retryPause(index + 1, plain)));
  const hours = [2, 5, 10, 14, 20, 24].map((count) => count * HOUR);
  expect(pauses).toEqual([5 * SECOND, 5 * MINUTE, 30 * MINUTE, ...hours, null]);
});

test('varies pauses by a fifth', () => {
  expect(near(retryPause(2, { ...plain, random: 0 }))).toBe(4 * MINUTE);
  expect(near(retryPause(2, { ...plain, random: 1 }))).toBe(6 * MINUTE);
});

test('pauses at least a minute after a time-out or 429', () => {
  for (const kind of ['timed_out', 'too_many_requests'] as const) {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.double({ min: 0, max: 1, noNaN: true }), (tries, random) => {
        expect(retryPause(tries, { ...plain, kind, random })).toBeGreaterThanOrEqual(MINUTE);
        expect(probePause(tries, { ...plain, kind, random })).toBeGreaterThanOrEqual(MINUTE);
      }),
    );
    expect(near(retryPause(3, { ...plain, kind }))).toBe(30 * MINUTE);
  }
});

test.each([
  ['shorter than the pause', 10 * SECOND, 5 * MINUTE],
  ['longer than the pause', 7 * MINUTE, 7 * MINUTE],
  ['longer than twice the pause', 9 * HOUR, 10 * MINUTE],
])(
  'follows Retry-After, but pauses at least as long as usual and at most twice as long: it is %s',
  (_, retryAfterMilliseconds, pause) => {
    expect(near(retryPause(2, { ...plain, retryAfterMilliseconds }))).toBe(pause);
  },
);

test('waits after a 429 as Retry-After says, but at most twice the minimum pause of a minute', () => {
  const busy: FailedAttempt = { ...plain, kind: 'too_many_requests' };
  expect(near(retryPause(1, { ...busy, retryAfterMilliseconds: 90 * SECOND }))).toBe(90 * SECOND);
  expect(near(retryPause(1, { ...busy, retryAfterMilliseconds: HOUR }))).toBe(2 * MINUTE);
});

test('probes a failing webhook at growing intervals of up to half an hour', () => {
  const pauses = Array.from({ length: 8 }, (_, probes) => near(probePause(probes, plain)));
  const minutes = [1, 5, 10, 30, 30, 30].map((count) => count * MINUTE);
  expect(pauses).toEqual([5 * SECOND, 30 * SECOND, ...minutes]);
});
