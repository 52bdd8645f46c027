import { afterAll, beforeAll, expect, test } from 'vitest';
import { isThorough } from '../harness/run/ring.ts';
import { CELLS, type Cell, FAULT_NAMES, runTogether } from './matrix.ts';
import { Stage } from './stage.ts';

/** In `npm test` a cell of each kind; all of them in `npm run verify`. */
const FEW = [
  'send, executed: cut (inquired)',
  'send, not executed: malformed (inquired)',
  'reverse, executed: error (reversed)',
  'send, arrives late: kill service (inquired)',
  'notice: before the answer',
  'send, done: kill service',
  'before record: kill PostgreSQL',
];

const chosen = isThorough ? CELLS : CELLS.filter(({ name }) => FEW.includes(name));

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.end());

const run = (cells: readonly Cell[]) => runTogether(stage, cells);

test('each cell has a name of its own, and those of npm test exist', () => {
  expect(new Set(CELLS.map(({ name }) => name)).size).toBe(CELLS.length);
  expect(FEW.filter((name) => !CELLS.some((cell) => cell.name === name))).toEqual([]);
});

test('whatever the processor answers, its book equals the ledger', async () => {
  expect(await run(chosen.filter(({ fault }) => fault === undefined))).toEqual([]);
});

/** The cells of `npm test` are not at every step. */
const groups = [false, true]
  .flatMap((isAtGate) => FAULT_NAMES.map((fault) => ({ fault, isAtGate })))
  .map((group) => ({
    ...group,
    step: group.isAtGate ? 'something is written' : 'the processor is asked',
    cells: chosen.filter(({ fault, isAtGate = false }) => fault === group.fault && isAtGate === group.isAtGate),
  }))
  .filter(({ cells }) => cells.length > 0);

test.each(groups)('while $step: $fault', async ({ cells }) => {
  expect(await run(cells)).toEqual([]);
});
