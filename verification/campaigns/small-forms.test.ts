import { expect, test } from 'vitest';
import { Resources } from '../../bench/resources.ts';
import type { Findings, Row } from '../campaign.ts';
import { BANK } from './bank.ts';
import { CHANGES } from './changes.ts';
import { DISK_FULL } from './disk-full.ts';
import { EVENTS } from './events.ts';
import { FAILOVER } from './failovers/failover.ts';
import { ISOLATED_PRIMARY } from './failovers/isolated-primary.ts';
import { STANDBY_GONE } from './failovers/standby-gone.ts';
import { PROCESSORS } from './processors.ts';
import { RESTORE } from './restore.ts';
import { WEBHOOKS } from './webhooks.ts';

// Runs the rows of npm run torture that no other suite covers, in their small forms. On two idle cores: bank 5 s,
// events 15 s, webhooks 40 s, restore 8 s, disk-full 8 s, processors 60 s, failover 40 s, isolated-primary 35 s,
// standby-gone 25 s. They mostly wait for starts, recoveries and leases of ten seconds, so they are slow on a busy machine.
const MAX_MILLISECONDS = 900_000;

/** Lower counts than in the small form: each failover, isolation or absence takes ten seconds or more. */
const FEWER: ReadonlyMap<Row, number> = new Map([
  [FAILOVER, 3],
  [ISOLATED_PRIMARY, 1],
  [STANDBY_GONE, 1],
]);

/** Uses a new seed each time. A failure prints the command that repeats the run. */
async function runSmall(row: Row, isControl = false): Promise<Findings & { readonly again: string }> {
  const resources = new Resources();
  const seed = 1 + Math.floor(Math.random() * 999_999_999);
  const count = FEWER.get(row) ?? row.counts.small;
  const again = `npm run torture -- --only ${row.name} --seed ${seed} --count ${count}${isControl ? ' --control' : ''}`;
  const setting = { seed, count, resources, progress: () => undefined, main: undefined, isControl, inHaste: true };
  try {
    const found = await row.run(setting);
    console.log(`${again}: ${JSON.stringify(found.figures)}`);
    return { ...found, again };
  } finally {
    await resources.endAll(console.log);
  }
}

test.for([BANK, CHANGES, EVENTS, WEBHOOKS, RESTORE, DISK_FULL, PROCESSORS, FAILOVER, ISOLATED_PRIMARY, STANDBY_GONE])(
  'finds no violation in the small form of $name',
  { timeout: MAX_MILLISECONDS },
  async (row, context) => {
    const { violations, notRun, again } = await runSmall(row);
    // A test that could not run counts as skipped, not as passed.
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
  const { violations, again } = await runSmall(FAILOVER, true);
  expect(
    violations.some((violation) => violation.includes('lost: ')),
    again,
  ).toBe(true);
});
