import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  afterFailure,
  afterSuccess,
  type FailedAttempt,
  type Failure,
  findNotice,
  type Health,
  MAX_TRIES,
  mergeHealth,
  probePause,
  retryPause,
  withLastSuccess,
} from './health.ts';
import { narrowWindow, widenWindow } from './webhook.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const START = Date.parse('2026-11-22T08:00:00Z');

const HEALTHY: Health = {
  status: 'enabled',
  failures: 0,
  failingSince: null,
  lastFailureAt: null,
  lastSuccessAt: null,
  probes: 0,
  nextProbeAt: null,
};

const failureAt = (startedAt: number, more: Partial<Failure> = {}): Failure => ({
  kind: 'failed',
  retryAfterMilliseconds: null,
  random: 0.5,
  startedAt,
  endedAt: startedAt + 10,
  dueAt: null,
  isStrict: false,
  ...more,
});

function failing(count: number, apart: number, more: Partial<Failure> = {}): Health {
  let health = HEALTHY;
  for (let index = 0; index < count; index += 1) health = afterFailure(health, failureAt(START + index * apart, more));
  return health;
}

/** Probes a paused webhook whenever a probe is due, until this moment. */
function probeUntil(health: Health, end: number): Health {
  let probed = health;
  for (let dueAt = probed.nextProbeAt; dueAt !== null && dueAt < end; dueAt = probed.nextProbeAt) {
    probed = afterFailure(probed, failureAt(dueAt, { dueAt }));
  }
  return probed;
}

describe('pausing', () => {
  test('pauses after the tenth failure in a row', () => {
    expect(failing(9, 10)).toMatchObject({ status: 'enabled', failures: 9, failingSince: START, nextProbeAt: null });
    expect(failing(10, 10)).toMatchObject({ status: 'paused', failures: 10, failingSince: START, probes: 1 });
    expect(failing(10, 10).nextProbeAt).toBe(START + 90 + 10 + 5 * SECOND);
  });

  test('counts again from zero after a success', () => {
    const health = afterSuccess(failing(9, 10), START + SECOND);
    expect(health).toMatchObject({ status: 'enabled', failures: 0, failingSince: null, lastSuccessAt: START + SECOND });
    expect(afterFailure(health, failureAt(START + 2 * SECOND))).toMatchObject({ status: 'enabled', failures: 1 });
  });

  test('ends a pause if the stored time of the last success is later than the last failure, but not otherwise', () => {
    const paused = failing(10, 10);
    const lastFailureAt = paused.lastFailureAt ?? 0;
    const after = { ...paused, lastSuccessAt: lastFailureAt + 1 };
    expect(withLastSuccess(after)).toEqual(afterSuccess(paused, lastFailureAt + 1));
    expect(withLastSuccess({ ...after, status: 'disabled' })).toMatchObject({ status: 'disabled', failures: 0 });
    for (const lastSuccessAt of [null, lastFailureAt]) {
      expect(withLastSuccess({ ...paused, lastSuccessAt })).toEqual({ ...paused, lastSuccessAt });
    }
  });

  test('merges stored health with newer facts: a success ends the pause, and a due probe stays due', () => {
    const paused = failing(10, 10);
    const succeeded = afterSuccess(paused, (paused.lastFailureAt ?? 0) + 1);
    expect(mergeHealth(paused, succeeded)).toEqual(succeeded);
    const probed = afterFailure(paused, failureAt(START + HOUR));
    expect(mergeHealth(probed, succeeded)).toEqual(probed);
    expect(mergeHealth(succeeded, probed)).toEqual(succeeded);
    // `paused` was stored before a success, and delivery has failed again since then.
    const failedAgain = { ...probed, lastSuccessAt: START + MINUTE };
    expect(mergeHealth(paused, failedAgain)).toEqual(paused);
    expect(mergeHealth({ ...paused, status: 'disabled' }, succeeded)).toMatchObject({
      status: 'disabled',
      failures: 0,
    });
    const due = { ...paused, nextProbeAt: START };
    expect(mergeHealth(paused, due)).toEqual(due);
    expect(mergeHealth(due, paused)).toEqual(due);
  });

  test('pauses after a minute with only failures, but not after one failure', () => {
    expect(failing(2, 59 * SECOND)).toMatchObject({ status: 'enabled' });
    expect(failing(2, 61 * SECOND)).toMatchObject({ status: 'paused', failures: 2 });
    const slow = failureAt(START, { endedAt: START + 90 * SECOND });
    expect(afterFailure(HEALTHY, slow)).toMatchObject({ status: 'enabled' });
  });

  test('does not count requests in flight before the pause as probes', () => {
    const paused = failing(10, 10);
    const late = afterFailure(paused, failureAt(START + 95, { endedAt: START + SECOND }));
    expect(late).toMatchObject({ probes: 1, nextProbeAt: paused.nextProbeAt, failures: 11 });
  });

  test('resumes a paused webhook after a success, but not a disabled one', () => {
    const paused = failing(10, 10);
    expect(afterSuccess(paused, START + MINUTE)).toMatchObject({ status: 'enabled', probes: 0, nextProbeAt: null });
    expect(afterSuccess({ ...paused, status: 'disabled' }, START + MINUTE).status).toBe('disabled');
    expect(afterFailure({ ...HEALTHY, status: 'disabled' }, failureAt(START)).status).toBe('disabled');
  });

  test('waits after every failure if the order is strict', () => {
    const health = failing(1, 10, { isStrict: true });
    expect(health).toMatchObject({ status: 'enabled', probes: 1, nextProbeAt: START + 10 + 5 * SECOND });
  });
});

describe('notices', () => {
  test('reports a webhook after an hour of failures', () => {
    expect(findNotice(HEALTHY)).toBeNull();
    expect(findNotice(probeUntil(failing(10, 10), START + 55 * MINUTE))).toBeNull();
    expect(findNotice(probeUntil(failing(10, 10), START + 2 * HOUR))).toBe('failing');
  });

  test('disables a webhook after 120 hours of failures', () => {
    expect(findNotice(probeUntil(failing(10, 10), START + 119 * HOUR))).toBe('failing');
    expect(findNotice(probeUntil(failing(10, 10), START + 121 * HOUR))).toBe('disabled');
  });

  test('does not disable a webhook after only a few failures, even over a long time', () => {
    const health = { ...HEALTHY, failures: 3, failingSince: START, lastFailureAt: START + 121 * HOUR };
    expect(findNotice(health)).toBe('failing');
  });

  test('does not count the time during which the service was stopped', () => {
    const paused = failing(10, 10);
    const dueAt = paused.nextProbeAt ?? 0;
    const restarted = afterFailure(paused, failureAt(dueAt + 200 * HOUR, { dueAt }));
    expect(findNotice(restarted)).toBeNull();
    expect(restarted.failingSince).toBe(START + 200 * HOUR);
    // The same applies to a webhook that was not paused and whose next event came after the restart.
    const failed = afterFailure(failing(9, 10), failureAt(START + 200 * HOUR));
    expect(findNotice(failed)).toBeNull();
  });
});

test('doubles the requests in flight with every round of successes, and allows one after a time-out', () => {
  let window = 1;
  const rounds = Array.from({ length: 5 }, () => {
    for (let count = window; count > 0; count -= 1) window = widenWindow(window, 10);
    return window;
  });
  expect(rounds).toEqual([2, 4, 8, 10, 10]);
  expect([narrowWindow(10, false), narrowWindow(5, false), narrowWindow(1, false)]).toEqual([5, 2, 1]);
  expect(narrowWindow(10, true)).toBe(1);
});

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
