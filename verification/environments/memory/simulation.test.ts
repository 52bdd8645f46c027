import { expect, test } from 'vitest';
import { PERIODS } from '../../../domain/ledger/limits.ts';
import { databaseTime } from '../../../server/foundation/database-clock.ts';
import { PERIOD_LIMITS } from '../../generators/commands.ts';
import { nextPeriodAfter } from '../../model/calendar.ts';
import { describeFailure, runCampaign } from './campaign.ts';
import { EVES, LIMITS } from './profile.ts';
import { runSchedule } from './schedule.ts';

/** How long `npm run check` runs schedules, in milliseconds. `npm run verify` runs 100,000 schedules. */
const MILLISECONDS = 5_000;

/**
 * Seeds that once failed, with the bug. The simulation has changed since then, so the seeds now produce different
 * schedules.
 */
const FAILED_ONCE: readonly (readonly [seed: number, cause: string])[] = [
  [40, 'update_transfer locked only its transfer, so its event said that a canceled transfer was pending'],
  [185, 'a cancellation overwrote a committed change of metadata'],
  [1309, 'updated_at went backwards, for the same reason'],
  [5, 'a listener threw after the COMMIT, so the group was halved and committed again'],
  [209, 'a listener threw after the COMMIT, and the lane stopped forever'],
  [132, 'a listener threw when a lost COMMIT was settled, and the error was unhandled'],
  [1473, 'a transfer at the first moment of a day was counted on the day before'],
];

test.each(FAILED_ONCE)('passes schedule %i, which once failed: %s', async (seed) => {
  const { problems, trace } = await runSchedule(seed, { traced: true });
  expect(problems, trace.join('\n')).toEqual([]);
});

test.each(PERIODS)('lets a %s end in some schedules', (period) => {
  expect(EVES.some((eve) => nextPeriodAfter(eve, period, 'UTC') - eve < 5_000)).toBe(true);
});

test.each(PERIOD_LIMITS)('gives programs the limit %s in some schedules', (name) => {
  expect(JSON.stringify(LIMITS)).toContain(`"${name}"`);
});

/** Seeds with a processor. They find the mutants of verification/mutants/processors. */
const WITH_PROCESSOR = [1, 5, 15, 17, 20, 35, 156, 219, 1396];

test.each(WITH_PROCESSOR)('keeps the processor and the ledger in agreement in schedule %i', async (seed) => {
  const { problems, trace } = await runSchedule(seed, { traced: true, hasProcessor: true });
  expect(problems, trace.join('\n')).toEqual([]);
});

test('keeps the processor and the ledger in agreement when messages are lost', async () => {
  const { failed } = await runCampaign(20_000, { schedules: 100 }, { hasProcessor: true });
  expect(failed === undefined ? '' : describeFailure(failed)).toBe('');
});

test('runs the same schedule for the same seed', async () => {
  const one = await runSchedule(7, { traced: true });
  const other = await runSchedule(7, { traced: true });
  expect(other).toEqual(one);
});

test('runs one schedule even if the time of the campaign is zero', async () => {
  expect(await runCampaign(7, { schedules: 1_000_000, milliseconds: 0 })).toMatchObject({
    schedules: 1,
    failed: undefined,
  });
});

test('restores the clock of the process, which later test files use for their ids', async () => {
  const before = databaseTime();
  await runSchedule(7);
  const after = databaseTime();
  expect(after).toBeGreaterThanOrEqual(before);
  expect(after - before).toBeLessThan(86_400_000);
});

test('keeps commits, responses and deliveries consistent in any order and with any faults', async () => {
  const firstSeed = 10_000;
  const { schedules, steps, failed } = await runCampaign(firstSeed, { milliseconds: MILLISECONDS });
  process.stdout.write(`${schedules} schedules with ${steps} steps, from seed ${firstSeed}\n`);
  expect(failed === undefined ? '' : describeFailure(failed)).toBe('');
});
