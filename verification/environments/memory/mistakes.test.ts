import { expect, test } from 'vitest';
import { COMMIT, GUARD, RELAY } from '../../mutants/simulation/commit.ts';
import { PROCESSORS } from '../../mutants/simulation/processors.ts';
import { DUE, LIMITS, PROGRAM_CHANGES, SWITCH } from '../../mutants/simulation/rules.ts';
import { DELIVERY, WEBHOOKS } from '../../mutants/simulation/webhooks.ts';
import { runCampaign } from './campaign.ts';
import { runSchedule } from './schedule.ts';

/** The mistakes in all simulated parts. The simulation must find each of them. */
const MISTAKES = [
  ...GUARD,
  ...COMMIT,
  ...RELAY,
  ...DELIVERY,
  ...WEBHOOKS,
  ...DUE,
  ...LIMITS,
  ...SWITCH,
  ...PROGRAM_CHANGES,
  ...PROCESSORS,
];

/**
 * The maximum number of schedules to find a mistake. Most mistakes take a few dozen, the rarest known one a few hundred.
 */
const MAX_SCHEDULES = 3_000;

test.each(MISTAKES)('finds the mistake: $name', async ({ seed, hasProcessor = false, isStory = false, ...mistake }) => {
  const { problems } = await runSchedule(seed, { mistake, hasProcessor, isStory });
  if (problems.length > 0) return;
  const { failed } = await runCampaign(1, { schedules: MAX_SCHEDULES }, { mistake, hasProcessor, isStory });
  expect(failed, 'no schedule found it').toBeDefined();
});
