import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../harness/process.ts';
import { Stage } from './stage.ts';
import type { Script } from './stand-in.ts';
import { Trial } from './trial.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.end());

/** How long transfers may stay open after a kill on an idle machine, in milliseconds. A lease takes most of it. */
const NONE_OPEN_WITHIN = 60_000;

/** How long an unknown attempt may take to end once its processor knows the result, in milliseconds. */
const KNOWN_WITHIN = 2_000;

/** A busy machine, with other tests at the same time, may take this many times as long. */
const SLOWED = 5;

const CONNECTORS = 9;

const OPEN = `select from processor_attempt where 'tr_' || replace(transfer_id::text, '-', '') = any ($1)
  and status not in ('approved', 'declined', 'failed', 'reversed')`;

/** The time since the outcome became unknown. With these connectors, an inquiry finds an order at once. */
const KNOWN = `select extract(epoch from updated_at - unknown_since) * 1000 as milliseconds from processor_attempt
  where 'tr_' || replace(transfer_id::text, '-', '') = any ($1) and status = 'approved' and tries = 1 and unknown_since is not null`;

/** The three scripts in turn: the kill comes before the answer, the answer is lost, or the order is lost and sent again. */
function scriptOf(trial: Trial, index: number): Script {
  return ({ question }, nth) => {
    if (question !== 'send' || nth > 0) return { executes: true, reply: 'answer' };
    if (index % 3 === 0) return { executes: true, reply: 'answer', until: trial.hold.held };
    return { executes: index % 3 === 1, reply: 'cut' };
  };
}

test('ends all transfers within the time of a lease after a kill, without moving the clock', async () => {
  const trials = Array.from({ length: CONNECTORS }, (_, index) => new Trial(stage, `inquired_${index}`));
  const ids = () => trials.flatMap(({ transferIds }) => transferIds);
  try {
    await Promise.all(trials.map((trial, index) => trial.begin(scriptOf(trial, index))));
    await Promise.all(trials.map((trial) => trial.untilAsked('send')));
    const killedAt = performance.now();
    await stage.killService();
    for (const { hold } of trials) hold.release();
    await stage.start();
    await waitFor('no transfer to be open', async () => (await stage.query(OPEN, [ids()])).length === 0);
    expect(performance.now() - killedAt).toBeLessThan(SLOWED * NONE_OPEN_WITHIN);
    // The other trials may have to wait for the lease of an inquiry that the kill interrupted.
    const lost = trials.filter((_, index) => index % 3 === 0).flatMap(({ transferIds }) => transferIds);
    for (const { milliseconds } of await stage.query(KNOWN, [lost])) {
      expect(Number(milliseconds)).toBeLessThan(SLOWED * KNOWN_WITHIN);
    }
    for (const trial of trials) await trial.check(['completed, executed 1']);
  } finally {
    for (const { hold } of trials) hold.release();
  }
});
