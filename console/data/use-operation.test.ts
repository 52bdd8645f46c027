import { expect, test } from 'vitest';
import { pauseUntilPoll } from './use-operation.ts';

const NOW = Date.parse('2026-11-23T06:00:00.000Z');
const EVERY = 5_000;

test.each([
  ['polls as usual if no change is expected', null, 5_000],
  ['polls as usual if the change comes after the next poll', 25_000, 5_000],
  ['polls just after an earlier change', 2_000, 2_500],
  ['waits at least a second for an immediate change', 0, 1_000],
  ['waits at least a second if the change is slightly overdue', -3_000, 1_000],
  ['polls as usual if the change is long overdue', -60_000, 5_000],
])('%s', (_case, inMilliseconds, pause) => {
  const changesAt = inMilliseconds === null ? null : new Date(NOW + inMilliseconds).toISOString();
  expect(pauseUntilPoll(EVERY, changesAt, NOW)).toBe(pause);
});
