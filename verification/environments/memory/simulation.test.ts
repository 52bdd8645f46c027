import { expect, test } from 'vitest';
import { PERIODS } from '../../../domain/ledger/limits.ts';
import { TRANSFER_MOVES } from '../../../domain/transfers/transfer.ts';
import { databaseTime } from '../../../server/foundation/database-clock.ts';
import { Coverage, PERIOD_LIMITS } from '../../generators/commands.ts';
import { nextPeriodAfter } from '../../model/calendar.ts';
import { describeFailure, runCampaign } from './campaign.ts';
import { EVES, endOf, LIMITS, STORY } from './profile.ts';
import { runSchedule } from './schedule.ts';

/** How long `npm run check` runs schedules, in milliseconds. `npm run verify` runs 100,000 schedules. */
const MILLISECONDS = 5_000;

test.each(PERIODS)('lets a %s end in some schedules', (period) => {
  const begins = EVES.map((day) => endOf(day, 'UTC'));
  expect(begins.some((begin) => nextPeriodAfter(begin, period, 'UTC') - begin < 5_000)).toBe(true);
});

test.each(PERIOD_LIMITS)('gives programs the limit %s in some schedules', (name) => {
  const all = LIMITS.flatMap(({ limits, cardLimits }) => [limits, cardLimits]);
  expect(all.some((each) => Object.hasOwn({ ...each?.in, ...each?.out }, name))).toBe(true);
});

// Runs the same stories every time. Otherwise a run could fail because a rare refusal did not occur by chance.
const coverage = new Coverage();

test('follows the model in long scenarios (stories)', async () => {
  const { failed } = await runCampaign(1, { schedules: 600 }, { isStory: true, coverage });
  expect(failed === undefined ? '' : describeFailure(failed)).toBe('');
});

test('covers every kind of request, limit, end of a period, and refusal in long scenarios (stories)', () => {
  expect(coverage.missing(STORY, 1)).toEqual([]);
});

// A story has no processor.
const MOVES = TRANSFER_MOVES.filter(({ command }) => command !== 'report');
test.each(MOVES)('makes the move $from $command $to in long scenarios (stories)', ({ from, command, to }) => {
  expect(coverage.timesOf(`moved ${from} ${command} ${to}`), 'give the move more weight in STORY').toBeGreaterThan(10);
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
