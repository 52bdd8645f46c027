import { availableParallelism } from 'node:os';
import { waitFor } from '../../test/harness/process.ts';
import { type Cell, fits, groupsOf } from '../../test/processors/cells/cell.ts';
import { runTogether } from '../../test/processors/cells/run-together.ts';
import { CELLS } from '../../test/processors/matrix.ts';
import { Stage } from '../../test/processors/stage.ts';
import type { Script } from '../../test/processors/stand-in.ts';
import { Trial } from '../../test/processors/trial.ts';
import { type Findings, type Setting, streamOf, Tally } from '../campaign.ts';
import { type Ledger, overLedgers } from '../environments/processes/ledgers.ts';

/** Hands per ledger. Each hand moves the clock ahead. A new ledger resets the clock. */
const HANDS_PER_LEDGER = 20;

/** Every fourth ledger also measures how long transfers stay open after a kill. */
const LEDGERS_PER_TIMING = 4;

/** The number of simultaneous ledgers. A hand mostly waits for starts, leases and answers, so others can use the CPU. */
const SIDE_BY_SIDE = Math.min(2 * availableParallelism(), 8);

/** Cells of one group that run together. */
type Hand = { readonly isWired: boolean; readonly cells: readonly Cell[] };

function shuffled<Item>(items: readonly Item[], random: () => number): readonly Item[] {
  return items
    .map((item) => ({ item, order: random() }))
    .sort((left, right) => left.order - right.order)
    .map(({ item }) => item);
}

/** Deals every cell once, in hands of random size and order. */
function deal(random: () => number): readonly Hand[] {
  const hands = groupsOf(CELLS).flatMap(({ isWired, cells }) => {
    const dealt: Hand[] = [];
    let left = shuffled(cells, random);
    while (left.length > 0) {
      let size = 1 + Math.floor(random() * left.length);
      while (size > 1 && !fits(left.slice(0, size), isWired)) size -= 1;
      dealt.push({ isWired, cells: left.slice(0, size) });
      left = left.slice(size);
    }
    return dealt;
  });
  return shuffled(hands, random);
}

/** Returns hands with `count` cells in total. All cells occur equally often, except in the last round. */
function handsOf(seed: number, count: number): readonly Hand[] {
  const hands: Hand[] = [];
  let left = count;
  for (let round = 0; left > 0; round += 1) {
    for (const { isWired, cells } of deal(streamOf(seed, round))) {
      if (left <= 0) break;
      hands.push({ isWired, cells: cells.slice(0, left) });
      left -= cells.length;
    }
  }
  return hands;
}

async function attack(setting: Setting, tally: Tally, hands: readonly Hand[], ledger: Ledger): Promise<void> {
  const { number, done, attacks } = ledger;
  // In one stage the service starts its database. In the other, connections go through the test.
  const stages = new Map<boolean, { readonly stage: Stage; readonly end: () => Promise<void> }>();
  const stageOf = async (isWired: boolean): Promise<Stage> => {
    const open = stages.get(isWired);
    if (open !== undefined) return open.stage;
    const stage = await Stage.open({ main: setting.main, isWired });
    stages.set(isWired, { stage, end: setting.resources.add('the stage', () => stage.end()) });
    return stage;
  };
  try {
    for (const [index, { isWired, cells }] of hands.slice(done, done + attacks).entries()) {
      const { problems, ...counts } = await runTogether(await stageOf(isWired), cells);
      tally.violate(`hand ${done + index}, ledger ${number}`, problems);
      tally.add('rounds of a cell', cells.length);
      for (const [what, count] of Object.entries(counts)) tally.add(what, count);
      setting.progress(
        tally.count('rounds of a cell'),
        `${tally.count('executed')} executed, ${tally.count('doubled')} doubled, ${tally.count('lost')} lost`,
      );
      // Transfers that are still open would disturb the next hand.
      if (problems.length > 0) return;
    }
    // This takes as long as a lease. The small form skips it: alongside other tests, the times would mean nothing.
    if (setting.isQuick !== true && number % LEDGERS_PER_TIMING === 0) await timeRecovery(await stageOf(false), tally);
  } finally {
    for (const { end } of stages.values()) await end();
  }
}

/** The measured times, with bounds in milliseconds on the 99th percentile or on the maximum. */
const BOUNDS = {
  ready_after_a_kill: { of: 'p99', most: 5_000 },
  none_open_after_a_kill: { of: 'most', most: 60_000 },
  end_after_the_processor_knows: { of: 'most', most: 2_000 },
} as const;

const CONNECTORS = 9;

const OPEN = `select from processor_attempt where 'tr_' || replace(transfer_id::text, '-', '') = any ($1)
  and status not in ('approved', 'declined', 'failed', 'reversed')`;

/** The time since the outcome became unknown. With these connectors, an inquiry finds an order at once. */
const KNOWN = `select extract(epoch from updated_at - unknown_since) * 1000 as milliseconds from processor_attempt
  where 'tr_' || replace(transfer_id::text, '-', '') = any ($1) and status = 'approved' and tries = 1 and unknown_since is not null`;

/** Kills the service during orders at the processor, and waits for their outcomes without moving the clock. */
async function timeRecovery(stage: Stage, tally: Tally): Promise<void> {
  const trials = Array.from({ length: CONNECTORS }, (_, index) => new Trial(stage, `inquired_${index}`));
  const ids = () => trials.flatMap(({ transferIds }) => transferIds);
  try {
    await Promise.all(trials.map((trial, index) => trial.begin(scriptOf(trial, index))));
    await Promise.all(trials.map((trial) => trial.untilAsked('send')));
    const killedAt = performance.now();
    await stage.killService();
    for (const { hold } of trials) hold.release();
    await stage.start();
    tally.time('ready_after_a_kill', performance.now() - killedAt);
    await waitFor('no transfer to be open', async () => (await stage.query(OPEN, [ids()])).length === 0);
    tally.time('none_open_after_a_kill', performance.now() - killedAt);
    // The other trials may have to wait for the lease of an inquiry that the kill interrupted.
    const lost = trials.filter((_, index) => index % 3 === 0).flatMap(({ transferIds }) => transferIds);
    for (const { milliseconds } of await stage.query(KNOWN, [lost])) {
      tally.time('end_after_the_processor_knows', Number(milliseconds));
    }
    for (const trial of trials) await trial.check(['completed, executed 1']);
  } finally {
    for (const { hold } of trials) hold.release();
  }
}

/** The three scripts in turn: the kill comes before the answer, the answer is lost, or the order is lost and sent again. */
function scriptOf(trial: Trial, index: number): Script {
  return ({ question }, nth) => {
    if (question !== 'send' || nth > 0) return { executes: true, reply: 'answer' };
    if (index % 3 === 0) return { executes: true, reply: 'answer', until: trial.hold.held };
    return { executes: index % 3 === 1, reply: 'cut' };
  };
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  tally.add('cells', CELLS.length);
  const hands = handsOf(setting.seed, setting.count);
  const over = { ...setting, count: hands.length };
  await overLedgers(over, tally, HANDS_PER_LEDGER, (ledger) => attack(setting, tally, hands, ledger), SIDE_BY_SIDE);
  for (const [what, { of, most }] of Object.entries(BOUNDS)) tally.bound(setting, what, most, of);
  return tally.findings({ ledgers_side_by_side: SIDE_BY_SIDE });
}
