import { expect, test } from 'vitest';
import { runCampaign } from './campaign.ts';
import { MISTAKES } from './mistakes/mistakes.ts';
import { runSchedule } from './schedule.ts';

// Proves that the simulation finds mistakes: it must find each of these.

/** How many schedules a mistake may take. Most take a few dozen, the rarest known one some hundred. */
const MAX_SCHEDULES = 3_000;

test.each(MISTAKES)('this mistake is found: $name', async ({ seed, hasProcessor = false, ...mistake }) => {
  const { problems } = await runSchedule(seed, { mistake, hasProcessor });
  if (problems.length > 0) return;
  const { failed } = await runCampaign(1, { schedules: MAX_SCHEDULES }, { mistake, hasProcessor });
  expect(failed, 'no schedule has found it').toBeDefined();
});
