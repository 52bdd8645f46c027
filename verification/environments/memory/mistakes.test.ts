import { expect, test } from 'vitest';
import { MISTAKES } from '../../mutants/simulation/mistakes.ts';
import { runCampaign } from './campaign.ts';
import { runSchedule } from './schedule.ts';

/**
 * The maximum number of schedules to find a mistake. Most mistakes take a few dozen, the rarest known one a few hundred.
 */
const MAX_SCHEDULES = 3_000;

test.each(MISTAKES)('finds the mistake: $name', async ({ seed, hasProcessor = false, ...mistake }) => {
  const { problems } = await runSchedule(seed, { mistake, hasProcessor });
  if (problems.length > 0) return;
  const { failed } = await runCampaign(1, { schedules: MAX_SCHEDULES }, { mistake, hasProcessor });
  expect(failed, 'no schedule found it').toBeDefined();
});
