import { CELLS, type Cell, FAULT_NAMES, runTogether } from '../../processors/matrix.ts';
import { Stage } from '../../processors/stage.ts';
import { type Ledger, overLedgers } from '../ledgers.ts';
import { type Findings, type Row, type Setting, streamOf, Tally } from '../row.ts';

/** On a new ledger the clock begins anew: it is moved ahead in each round. */
const ROUNDS_OF_LEDGER = 20;

/** The most cells of a round: with more of them the connectors would be shared. */
const MOST_CELLS = 12;

/** The cells that can be beside each other: they have the same fault while the service waits for the same. */
const GROUPS: readonly (readonly Cell[])[] = [
  CELLS.filter(({ fault }) => fault === undefined),
  ...FAULT_NAMES.flatMap((fault) =>
    [false, true].map((isAtGate) =>
      CELLS.filter((cell) => cell.fault === fault && (cell.isAtGate ?? false) === isAtGate),
    ),
  ),
];

function draw(random: () => number): readonly Cell[] {
  const group = GROUPS[Math.floor(random() * GROUPS.length)] ?? [];
  const most = 1 + Math.floor(random() * MOST_CELLS);
  const shuffled = group.map((cell) => ({ cell, place: random() })).sort((left, right) => left.place - right.place);
  return shuffled.slice(0, most).map(({ cell }) => cell);
}

async function attack(setting: Setting, tally: Tally, { number, done, attacks }: Ledger): Promise<void> {
  const stage = await Stage.open(setting.main);
  const end = setting.resources.add('the stage', () => stage.end());
  try {
    for (let round = done; round < done + attacks; round += 1) {
      const cells = draw(streamOf(setting.seed, round));
      const problems = await runTogether(stage, cells);
      tally.violate(`round ${round}, ledger ${number}`, problems);
      tally.add('cells', cells.length);
      tally.add(cells[0]?.fault ?? 'bad answers');
      setting.progress(round + 1, `${tally.count('cells')} cells`);
      // What is left open would disturb the rounds after it.
      if (problems.length > 0) break;
    }
  } finally {
    await end();
  }
}

async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  await overLedgers(setting, tally, ROUNDS_OF_LEDGER, (ledger) => attack(setting, tally, ledger));
  return { figures: tally.figures(), violations: tally.violations };
}

/** Transfers of cards at a processor, in cells of the matrix that are drawn: what it has done equals the ledger. */
export const PROCESSORS: Row = {
  name: 'processors',
  unit: 'rounds',
  counts: { small: 4, middle: 40, large: 400 },
  run,
};
