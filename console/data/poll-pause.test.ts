import { expect, test } from 'vitest';
import { pauseUntilPoll } from './poll-pause.ts';

const NOW = Date.parse('2026-11-23T06:00:00.000Z');
const EVERY = 5_000;

test.each([
  ['nothing is known to change', null, 5_000],
  ['it changes after the next poll', 25_000, 5_000],
  ['it changes before: just after that', 2_000, 2_500],
  ['it changes at once', 0, 1_000],
  ['it should have changed just now', -3_000, 1_000],
  ['it should have changed long ago', -60_000, 5_000],
])('%s', (_case, inMilliseconds, pause) => {
  const changesAt = inMilliseconds === null ? null : new Date(NOW + inMilliseconds).toISOString();
  expect(pauseUntilPoll(EVERY, changesAt, NOW)).toBe(pause);
});
