import { expect, test } from 'vitest';
import * as COMMIT from '../../mutants/simulation/commit.ts';
import type { NamedMistake } from '../../mutants/simulation/make.ts';
import * as PROCESSORS from '../../mutants/simulation/processors.ts';
import * as RULES from '../../mutants/simulation/rules.ts';
import * as WEBHOOKS from '../../mutants/simulation/webhooks.ts';
import { runCampaign } from './campaign.ts';
import { runSchedule } from './schedule.ts';

/** The mistakes in all simulated parts. The simulation must find each of them. */
const MISTAKES = [COMMIT, PROCESSORS, RULES, WEBHOOKS].flatMap((file): readonly NamedMistake[] =>
  Object.values(file).flat(),
);

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
