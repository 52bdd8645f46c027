import { ANSWERS } from './cells/answers.ts';
import { type Cell, FAULTS, type Pair, STEPS } from './cells/cell.ts';
import { AT_INCIDENTS } from './cells/incidents.ts';
import { ON_LINES } from './cells/lines.ts';
import { NOTICES } from './cells/notices.ts';

export const CELLS: readonly Cell[] = [...ANSWERS, ...NOTICES, ...AT_INCIDENTS, ...ON_LINES];

export const PAIRS: readonly Pair[] = STEPS.flatMap((step) => FAULTS.map((fault): Pair => `${step}: ${fault}`));

const NO_BYTES = 'no byte of an order or an answer has been sent yet';
const NO_PEER = "only the service and its database take part, and no peer's text is read";
const NO_SETTLEMENT =
  'the processor sends nothing at this step; operators import its settlement files: test/api/processors/settlement.test.ts';

/** The pairs without a meaning, each with a short reason. All other pairs have a cell. */
export const WITHOUT_MEANING: Readonly<Partial<Record<Pair, string>>> = {
  'commit: reordered': 'transfers are independent of each other, and a repeat that overtakes its request is "twice"',
  'commit: malformed': 'the caller is refused before a decision: test/http, test/contract',
  'commit: wrong amount': 'only the caller knows the amount; a different amount with the same key is refused',
  'claim: reordered': 'attempts are claimed in any order, and no two belong to one transfer',
  'claim: malformed': NO_PEER,
  'claim: wrong amount': NO_PEER,
  'connect: twice': NO_BYTES,
  'connect: reordered': NO_BYTES,
  'connect: malformed': NO_BYTES,
  'connect: wrong amount': NO_BYTES,
  'write: twice': 'a request is written once; the adapter handles a request that the network repeats: rule send_again',
  'write: reordered': 'each request has a separate connection, which keeps its bytes in order',
  'record: malformed': 'a recorded answer was read and checked before',
  'record: wrong amount': 'a recorded answer was read and checked before',
  ...Object.fromEntries(FAULTS.map((fault) => [`settle: ${fault}`, NO_SETTLEMENT])),
};

/** Returns the pairs with a cell, the pairs without a meaning, and the missing pairs. */
export function coverage() {
  const filled = new Set(CELLS.flatMap(({ pairs }) => pairs));
  return {
    filled: PAIRS.filter((pair) => filled.has(pair)),
    withoutMeaning: PAIRS.filter((pair) => WITHOUT_MEANING[pair] !== undefined),
    missing: PAIRS.filter((pair) => !filled.has(pair) && WITHOUT_MEANING[pair] === undefined),
  };
}
