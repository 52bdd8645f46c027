import { expect, test } from 'vitest';
import { Resources } from '../../bench/resources.ts';
import type { Campaign, Findings, Replication } from '../campaign.ts';
import { CAMPAIGNS } from '../campaigns.ts';
import { ABOUT_MONEY } from '../checkers/responses.ts';

// Each campaign takes a minute or less on two idle cores. Campaigns mostly wait for starts, recoveries and leases of ten
// seconds, so they are slow on a busy machine.
const MAX_MILLISECONDS = 900_000;

const OF_VERIFY = CAMPAIGNS.filter(({ ring }) => ring === 'npm run verify');

/** Runs a campaign with a new seed each time. A failure prints the command that repeats the run. */
async function runSmall(campaign: Campaign, replication?: Replication): Promise<Findings & { readonly again: string }> {
  const resources = new Resources();
  const seed = 1 + Math.floor(Math.random() * 999_999_999);
  const { name, counts } = campaign;
  const count = counts.inVerify ?? counts.small;
  const again = `npm run campaigns -- --only ${name} --seed ${seed} --count ${count}${replication === undefined ? '' : ' --control'}`;
  const setting = { seed, count, resources, progress: () => undefined, main: undefined, replication, isQuick: true };
  try {
    const found = await campaign.run(setting);
    console.log(`${again}: ${JSON.stringify(found.figures)}`);
    return { ...found, again };
  } finally {
    await resources.endAll(console.log);
  }
}

test.for(OF_VERIFY)(
  'finds no violation in the small form of $name',
  { timeout: MAX_MILLISECONDS },
  async (campaign, context) => {
    const { violations, notRun, again } = await runSmall(campaign);
    // A campaign that could not run counts as skipped, not as passed.
    if (notRun !== undefined) {
      Object.assign(context.task.meta, { notRun });
      context.skip(notRun);
    }
    expect(violations, again).toEqual([]);
  },
);

test('loses acknowledged transfers in a failover without synchronous replication (negative control)', {
  timeout: MAX_MILLISECONDS,
}, async () => {
  const failover = OF_VERIFY.find(({ name }) => name === 'failover');
  if (failover === undefined) throw new Error('there is no campaign failover');
  const { violations, again } = await runSmall(failover, 'asynchronous');
  expect(violations.join('\n'), again).toMatch(ABOUT_MONEY);
});
