import { waitFor } from '../../../test/harness/process.ts';
import type { Stage } from '../../../test/processors/stage.ts';
import type { Script } from '../../../test/processors/stand-in.ts';
import { Trial } from '../../../test/processors/trial.ts';
import { boundOf, type Setting, type Tally } from '../../campaign.ts';

/** The measured times, with bounds in milliseconds on the 99th percentile or on the maximum. */
const BOUNDS = {
  ready_after_a_kill: { of: 'p99', most: 5_000 },
  none_open_after_a_kill: { of: 'most', most: 60_000 },
  end_after_the_processor_knows: { of: 'most', most: 2_000 },
} as const;

const CONNECTORS = 9;

const OPEN = `select from processor_attempt where 'tr_' || replace(transfer_id::text, '-', '') = any ($1)
  and status not in ('approved', 'declined', 'failed', 'reversed')`;

/** Measures from when the outcome became unknown: these connectors say that the processor knows an order at once. */
const KNOWN = `select extract(epoch from updated_at - unknown_since) * 1000 as milliseconds from processor_attempt
  where 'tr_' || replace(transfer_id::text, '-', '') = any ($1) and status = 'approved' and tries = 1 and unknown_since is not null`;

/** Kills the service during orders at the processor, and waits for their outcomes without moving the clock. */
export async function timeRecovery(stage: Stage, tally: Tally): Promise<void> {
  const trials = Array.from({ length: CONNECTORS }, (_, index) => new Trial(stage, `inquired_${index}`));
  const ids = () => trials.flatMap(({ transferIds }) => transferIds);
  try {
    await Promise.all(trials.map((trial, index) => trial.begin(scriptOf(trial, index))));
    await Promise.all(trials.map((trial) => trial.untilAsked('send')));
    const killedAt = performance.now();
    await stage.killService();
    for (const { hold } of trials) hold.letGo();
    await stage.start();
    tally.time('ready_after_a_kill', performance.now() - killedAt);
    await waitFor('no transfer to be open', async () => (await stage.query(OPEN, [ids()])).length === 0);
    tally.time('none_open_after_a_kill', performance.now() - killedAt);
    // In the other trials, the kill may have interrupted an inquiry, and they wait for its lease.
    const lost = trials.filter((_, index) => index % 3 === 0).flatMap(({ transferIds }) => transferIds);
    for (const { milliseconds } of await stage.query(KNOWN, [lost])) {
      tally.time('end_after_the_processor_knows', Number(milliseconds));
    }
    for (const trial of trials) await trial.check(['completed, executed 1']);
  } finally {
    for (const { hold } of trials) hold.letGo();
  }
}

/** In turn: the kill comes before the answer, the answer is lost, or the order is lost and sent again. */
function scriptOf(trial: Trial, index: number): Script {
  return ({ question }, nth) => {
    if (question !== 'send' || nth > 0) return { executes: true, reply: 'answer' };
    if (index % 3 === 0) return { executes: true, reply: 'answer', until: trial.hold.held };
    return { executes: index % 3 === 1, reply: 'cut' };
  };
}

/** Counts exceeded bounds as violations. */
export function judgeTimes(setting: Setting, tally: Tally): void {
  for (const [what, { of, most }] of Object.entries(BOUNDS)) {
    const taken = tally.spread(what)[of];
    const bound = boundOf(setting, most);
    if (taken > bound) tally.violate('times', [`${what}: ${taken} ms (${of}), the maximum is ${bound} ms`]);
  }
}
