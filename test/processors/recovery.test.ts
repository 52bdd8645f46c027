import { afterAll, beforeAll, test } from 'vitest';
import { waitFor } from '../harness/process.ts';
import { Stage } from './stage.ts';
import type { Script } from './stand-in.ts';
import { Trial } from './trial.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.end());

const CONNECTORS = 9;

const OPEN = `select from processor_attempt where 'tr_' || replace(transfer_id::text, '-', '') = any ($1)
  and status not in ('approved', 'declined', 'failed', 'reversed')`;

/**
 * Returns one of three scripts in turn: the kill happens before the answer, the answer is lost, or the order is lost
 * and sent again.
 */
function scriptOf(trial: Trial, index: number): Script {
  return ({ question }, nth) => {
    if (question !== 'send' || nth > 0) return { executes: true, reply: 'answer' };
    if (index % 3 === 0) return { executes: true, reply: 'answer', until: trial.hold.held };
    return { executes: index % 3 === 1, reply: 'cut' };
  };
}

test('all transfers end after a kill, even if the clock is not moved', async () => {
  const trials = Array.from({ length: CONNECTORS }, (_, index) => new Trial(stage, `inquired_${index}`));
  const ids = () => trials.flatMap(({ transferIds }) => transferIds);
  try {
    await Promise.all(trials.map((trial, index) => trial.begin(scriptOf(trial, index))));
    await Promise.all(trials.map((trial) => trial.untilAsked('send')));
    await stage.killService();
    for (const { hold } of trials) hold.release();
    await stage.start();
    await waitFor('no transfer to be open', async () => (await stage.query(OPEN, [ids()])).length === 0);
    for (const trial of trials) await trial.check(['completed, executed 1']);
  } finally {
    for (const { hold } of trials) hold.release();
  }
});
