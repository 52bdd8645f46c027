import { availableParallelism } from 'node:os';
import { type Cell, fits, groupsOf } from '../../test/processors/cells/cell.ts';
import { runTogether } from '../../test/processors/cells/run-together.ts';
import { CELLS } from '../../test/processors/matrix.ts';
import { Stage } from '../../test/processors/stage.ts';
import { type Findings, type Setting, streamOf, Tally } from '../campaign.ts';
import { type Ledger, overLedgers } from '../environments/processes/ledgers.ts';
import { judgeTimes, timeRecovery } from '../environments/processes/processor-times.ts';

/** Hands per ledger. Each hand moves the clock ahead, and a new ledger resets it. */
const HANDS_OF_LEDGER = 20;

/** One ledger in this many also measures how long transfers stay open after a kill. */
const LEDGERS_OF_KILL = 4;

/** The number of simultaneous ledgers. A hand mostly waits for starts, leases and answers, so others have processor time. */
const SIDE_BY_SIDE = Math.min(2 * availableParallelism(), 8);

/** Cells of one group that run together. */
type Hand = { readonly isWired: boolean; readonly cells: readonly Cell[] };

/** Deals every cell once, in hands of random size and order. */
function deal(random: () => number): readonly Hand[] {
  const shuffled = <Item>(items: readonly Item[]): readonly Item[] =>
    items
      .map((item) => ({ item, place: random() }))
      .sort((left, right) => left.place - right.place)
      .map(({ item }) => item);
  const hands = groupsOf(CELLS).flatMap(({ isWired, cells }) => {
    const left = [...shuffled(cells)];
    const dealt: Hand[] = [];
    while (left.length > 0) {
      const size = 1 + Math.floor(random() * left.length);
      const hand: Cell[] = [];
      while (hand.length < size && left[0] !== undefined && fits([...hand, left[0]], isWired)) {
        hand.push(left.shift() as Cell);
      }
      dealt.push({ isWired, cells: hand });
    }
    return dealt;
  });
  return shuffled(hands);
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

/** A ledger's stages: in one, the service starts its database. In the other, connections go through the test. */
class Stages {
  readonly #setting: Setting;
  readonly #open = new Map<boolean, { readonly stage: Stage; readonly end: () => Promise<void> }>();

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  async take(isWired: boolean): Promise<Stage> {
    const open = this.#open.get(isWired);
    if (open !== undefined) return open.stage;
    const stage = await Stage.open({ main: this.#setting.main, isWired });
    this.#open.set(isWired, { stage, end: this.#setting.resources.add('the stage', () => stage.end()) });
    return stage;
  }

  async end(): Promise<void> {
    for (const { end } of this.#open.values()) await end();
  }
}

async function attack(
  setting: Setting,
  tally: Tally,
  hands: readonly Hand[],
  { number, done, attacks }: Ledger,
): Promise<void> {
  const stages = new Stages(setting);
  try {
    for (let at = done; at < done + attacks; at += 1) {
      const { isWired, cells } = hands[at] ?? { isWired: false, cells: [] };
      const { problems, ...counts } = await runTogether(await stages.take(isWired), cells);
      tally.violate(`hand ${at}, ledger ${number}`, problems);
      tally.add('rounds of a cell', cells.length);
      for (const [what, count] of Object.entries(counts)) tally.add(what, count);
      setting.progress(
        tally.count('rounds of a cell'),
        `${tally.count('executed')} executed, ${tally.count('doubled')} doubled, ${tally.count('lost')} lost`,
      );
      // Transfers that are still open would disturb the next hand.
      if (problems.length > 0) return;
    }
    // This takes as long as a lease. Next to other tests, as in the small form, the times would mean nothing.
    if (setting.inHaste !== true && number % LEDGERS_OF_KILL === 0) await timeRecovery(await stages.take(false), tally);
  } finally {
    await stages.end();
  }
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  tally.add('cells', CELLS.length);
  const hands = handsOf(setting.seed, setting.count);
  const over = { ...setting, count: hands.length };
  await overLedgers(over, tally, HANDS_OF_LEDGER, (ledger) => attack(setting, tally, hands, ledger), SIDE_BY_SIDE);
  judgeTimes(setting, tally);
  return { figures: { ledgers_side_by_side: SIDE_BY_SIDE, ...tally.figures() }, violations: tally.violations };
}
