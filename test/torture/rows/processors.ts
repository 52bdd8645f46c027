import { availableParallelism } from 'node:os';
import { type Cell, fits, groupsOf } from '../../processors/cells/cell.ts';
import { runTogether } from '../../processors/cells/run-together.ts';
import { CELLS } from '../../processors/matrix.ts';
import { Stage } from '../../processors/stage.ts';
import { type Ledger, overLedgers } from '../ledgers.ts';
import { judgeTimes, timeRecovery } from '../processor-times.ts';
import { type Findings, type Row, type Setting, streamOf, Tally } from '../row.ts';

/** On a new ledger the clock begins anew: it is moved ahead for each hand. */
const HANDS_OF_LEDGER = 20;

/** On so many of them one is used to measure how long transfers stay open after a kill. */
const LEDGERS_OF_KILL = 4;

/** A hand mostly waits for starts, leases and answers, so that there is processor time for others. */
const SIDE_BY_SIDE = Math.min(2 * availableParallelism(), 8);

/** Cells of one group, beside each other. */
type Hand = { readonly isWired: boolean; readonly cells: readonly Cell[] };

/** Every cell once, in hands of a size that is drawn, in an order that is drawn. */
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

/** Hands with so many cells together: each cell as often as every other, but for the last round. */
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

/** The stages of a ledger: one whose database the service starts by itself, and one whose connections go through the test. */
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
      // What is left open would disturb what comes after it.
      if (problems.length > 0) return;
    }
    // It takes as long as a lease; the small form, which runs beside other tests, measures nothing.
    if (setting.inHaste !== true && number % LEDGERS_OF_KILL === 0) await timeRecovery(await stages.take(false), tally);
  } finally {
    await stages.end();
  }
}

async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  tally.add('cells', CELLS.length);
  const hands = handsOf(setting.seed, setting.count);
  const over = { ...setting, count: hands.length };
  await overLedgers(over, tally, HANDS_OF_LEDGER, (ledger) => attack(setting, tally, hands, ledger), SIDE_BY_SIDE);
  judgeTimes(setting, tally);
  return { figures: { ledgers_side_by_side: SIDE_BY_SIDE, ...tally.figures() }, violations: tally.violations };
}

/** Transfers of cards at a processor, in every cell of the matrix: what it has done equals the ledger. */
export const PROCESSORS: Row = {
  name: 'processors',
  unit: 'rounds of a cell',
  // So many rounds of every cell, but for the small form.
  counts: { small: 24, middle: 20 * CELLS.length, large: 500 * CELLS.length },
  run,
};
