import { ANSWERS } from './cells/answers.ts';
import { type Cell, FAULTS, type Pair, STEPS } from './cells/cell.ts';
import { AT_INCIDENTS } from './cells/incidents.ts';
import { ON_LINES } from './cells/lines.ts';
import { NOTICES } from './cells/notices.ts';

/** All cells. */
export const CELLS: readonly Cell[] = [...ANSWERS, ...NOTICES, ...AT_INCIDENTS, ...ON_LINES];

/** Every step with every fault. */
export const PAIRS: readonly Pair[] = STEPS.flatMap((step) => FAULTS.map((fault): Pair => `${step}: ${fault}`));

const NO_BYTES = 'no byte of an order or an answer has been sent yet';
const NO_PEER = 'only the service and its database take part, and neither reads what a peer wrote';
const NO_SETTLEMENT = 'the service takes no settlement yet';

/** The pairs without a meaning, each with the reason in a few words. All others have a cell. */
export const WITHOUT_MEANING: Readonly<Partial<Record<Pair, string>>> = {
  'commit: reordered': 'transfers are independent of each other, and a repeat that overtakes its request is "twice"',
  'commit: malformed': 'the caller is refused before anything is decided: test/http, test/fuzz',
  'commit: wrong amount': 'only the caller knows the amount; another one under the same key is refused',
  'claim: reordered': 'attempts are taken up in any order, and no two are about one transfer',
  'claim: malformed': NO_PEER,
  'claim: wrong amount': NO_PEER,
  'connect: twice': NO_BYTES,
  'connect: reordered': NO_BYTES,
  'connect: malformed': NO_BYTES,
  'connect: wrong amount': NO_BYTES,
  'write: twice': 'a request is written once; one that the way repeats is for the adapter: rule send_again',
  'write: reordered': 'each request has a connection of its own, which keeps its bytes in order',
  'record: malformed': 'what is recorded has been read and checked before',
  'record: wrong amount': 'what is recorded has been read and checked before',
  ...Object.fromEntries(FAULTS.map((fault) => [`settle: ${fault}`, NO_SETTLEMENT])),
};

/** What the matrix has of its pairs. */
export function coverage() {
  const filled = new Set(CELLS.flatMap(({ pairs }) => pairs));
  return {
    filled: PAIRS.filter((pair) => filled.has(pair)),
    withoutMeaning: PAIRS.filter((pair) => WITHOUT_MEANING[pair] !== undefined),
    missing: PAIRS.filter((pair) => !filled.has(pair) && WITHOUT_MEANING[pair] === undefined),
  };
}
