import { expect, test } from 'vitest';
import { databaseTime } from '../../server/foundation/database-clock.ts';
import { describeFailure, runCampaign } from './campaign.ts';
import { runSchedule } from './schedule.ts';

/** How long `npm run check` runs schedules. `npm run verify` runs 100,000. */
const MILLISECONDS = 5_000;

/** Schedules that once failed, and the bug. The simulation has changed since, so they are different schedules now. */
const FAILED_ONCE: readonly (readonly [seed: number, cause: string])[] = [
  [40, 'update_transfer locked only its transfer, so its event said that a canceled transfer was pending'],
  [185, 'a cancellation overwrote a committed change of metadata'],
  [1309, 'updated_at went backwards, for the same reason'],
  [5, 'a listener threw after the COMMIT, and the group was halved and committed again'],
  [209, 'a listener threw after the COMMIT, and the lane stopped for ever'],
  [132, 'a listener threw when a lost COMMIT was settled, and nobody handled that'],
  [1473, 'a transfer at the first moment of a day was counted on the day before'],
];

test.each(FAILED_ONCE)('schedule %i, where once %s', async (seed) => {
  const { problems, trace } = await runSchedule(seed, { traced: true });
  expect(problems, trace.join('\n')).toEqual([]);
});

/** Schedules with a processor that find the mutants of test/mutants/processors. */
const WITH_PROCESSOR = [1, 5, 15, 17, 20, 35, 156, 278, 539];

test.each(WITH_PROCESSOR)('the processor of a card and the ledger agree in schedule %i', async (seed) => {
  const { problems, trace } = await runSchedule(seed, { traced: true, hasProcessor: true });
  expect(problems, trace.join('\n')).toEqual([]);
});

test('the processor of a card and the ledger agree, whatever is lost between them', async () => {
  const { failed } = await runCampaign(20_000, { schedules: 100 }, { hasProcessor: true });
  expect(failed === undefined ? '' : describeFailure(failed)).toBe('');
});

test('the same seed gives the same schedule', async () => {
  const one = await runSchedule(7, { traced: true });
  const other = await runSchedule(7, { traced: true });
  expect(other).toEqual(one);
});

test('a campaign ends with its time, after at least one schedule, without a failure', async () => {
  expect(await runCampaign(7, { schedules: 1_000_000, milliseconds: 0 })).toMatchObject({
    schedules: 1,
    failed: undefined,
  });
});

test('leaves the clock of the process as it was, by which the files that follow make their ids', async () => {
  const before = databaseTime();
  await runSchedule(7);
  const after = databaseTime();
  expect(after).toBeGreaterThanOrEqual(before);
  expect(after - before).toBeLessThan(86_400_000);
});

test('in any order and with any faults, commits, responses and deliveries agree', async () => {
  const firstSeed = 10_000;
  const { schedules, steps, failed } = await runCampaign(firstSeed, { milliseconds: MILLISECONDS });
  process.stdout.write(`${schedules} schedules with ${steps} steps, from seed ${firstSeed}\n`);
  expect(failed === undefined ? '' : describeFailure(failed)).toBe('');
});
