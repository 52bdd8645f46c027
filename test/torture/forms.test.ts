import { expect, test } from 'vitest';
import { Resources } from '../../bench/resources.ts';
import type { Findings, Row } from './row.ts';
import { BANK } from './rows/bank.ts';
import { CHANGES } from './rows/changes.ts';
import { DISK_FULL } from './rows/disk-full.ts';
import { EVENTS } from './rows/events.ts';
import { PROCESSORS } from './rows/processors.ts';
import { RESTORE } from './rows/restore.ts';
import { WEBHOOKS } from './rows/webhooks.ts';

// The small forms of the rows of npm run torture that no other suite covers. On two idle cores: bank 5 s, events 15 s,
// webhooks 40 s, restore 8 s, disk-full 8 s, processors 60 s. They mostly wait for starts and recoveries, and webhooks for leases of ten
// seconds, so a busy machine makes them slow.
const MAX_MILLISECONDS = 900_000;

/** Uses a new seed each time; a failure names it, and `npm run torture -- --only … --seed …` repeats it. */
async function runSmall(row: Row): Promise<Findings & { readonly again: string }> {
  const resources = new Resources();
  const seed = 1 + Math.floor(Math.random() * 999_999_999);
  const count = row.counts.small;
  const again = `npm run torture -- --only ${row.name} --seed ${seed} --count ${count}`;
  try {
    const found = await row.run({ seed, count, resources, progress: () => undefined, main: undefined, inHaste: true });
    console.log(`${again}: ${JSON.stringify(found.figures)}`);
    return { ...found, again };
  } finally {
    await resources.endAll(console.log);
  }
}

test.for([BANK, CHANGES, EVENTS, WEBHOOKS, RESTORE, DISK_FULL, PROCESSORS])(
  'the small form of $name finds no violation',
  { timeout: MAX_MILLISECONDS },
  async (row, context) => {
    const { violations, notRun, again } = await runSmall(row);
    // Counted as skipped, with the reason: a test that did not run is not a success.
    if (notRun !== undefined) {
      Object.assign(context.task.meta, { notRun });
      context.skip(notRun);
    }
    expect(violations, again).toEqual([]);
  },
);
