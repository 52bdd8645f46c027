import { afterAll, describe, expect, test } from 'vitest';
import { isThorough } from '../harness/run/ring.ts';
import { groupsOf } from './cells/cell.ts';
import { runTogether } from './cells/run-together.ts';
import { CELLS, coverage, PAIRS, WITHOUT_MEANING } from './matrix.ts';
import { Stage } from './stage.ts';

/** The cells that `npm test` runs, one of each kind. `npm run verify` runs all cells. */
const FEW = [
  'send, executed: cut (inquired)',
  'send, not executed: malformed (inquired)',
  'reverse, executed: error (reversed)',
  'send, arrives late: kill service (inquired)',
  'notice: before the answer',
  'send, done: kill service',
  'before record: kill PostgreSQL',
];

/** How often each cell runs. To run more rounds by hand, set MATRIX_ROUNDS. */
const ROUNDS = Number(process.env.MATRIX_ROUNDS ?? 1);

const once = groupsOf(isThorough ? CELLS : CELLS.filter(({ name }) => FEW.includes(name)));
const groups = Array.from({ length: ROUNDS }, () => once).flat();

describe('the table', () => {
  test('has a cell, or a reason for having none, for every step with every fault', () => {
    const { filled, withoutMeaning, missing } = coverage();
    expect(missing).toEqual([]);
    expect(filled.filter((pair) => withoutMeaning.includes(pair))).toEqual([]);
    expect(filled.length + withoutMeaning.length).toBe(PAIRS.length);
    expect(PAIRS).toHaveLength(110);
    const reasons = new Set(withoutMeaning.map((pair) => WITHOUT_MEANING[pair]));
    console.log(
      `${PAIRS.length} pairs of a step and a fault: ${filled.length} filled by ${CELLS.length} cells, each with a load and an ` +
        `unload; ${withoutMeaning.length} without a meaning, for ${reasons.size} reasons`,
    );
  });

  test('has unique names for its cells, including the cells of npm test', () => {
    expect(new Set(CELLS.map(({ name }) => name)).size).toBe(CELLS.length);
    expect(FEW.filter((name) => !CELLS.some((cell) => cell.name === name))).toEqual([]);
  });
});

describe.each([false, true].filter((isWired) => groups.some((group) => group.isWired === isWired)))(
  "the processor's book equals the ledger (connections through the test: %s)",
  (isWired) => {
    let stage: Stage | undefined;
    afterAll(() => stage?.end());

    test.each(groups.filter((group) => group.isWired === isWired))('$name', async ({ cells }) => {
      stage ??= await Stage.open({ isWired });
      const { problems, executed, doubled, lost } = await runTogether(stage, cells);
      expect(problems).toEqual([]);
      expect({ doubled, lost }).toEqual({ doubled: 0, lost: 0 });
      expect(executed).toBeGreaterThanOrEqual(0);
    });
  },
);
