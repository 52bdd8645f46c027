import { asOperation, type Draft } from './draft.ts';
import {
  newBatch,
  newCard,
  newDeposit,
  newKey,
  newLoad,
  newOtherTransfer,
  newProgram,
  newWithdrawal,
} from './making.ts';
import type { Random } from './random.ts';
import {
  newCancel,
  newCapture,
  newCardChange,
  newMetadata,
  newMisplaced,
  newReading,
  newReversal,
} from './standing.ts';

/** How often each kind of request is made. */
const KINDS: readonly (readonly [weight: number, make: (random: Random, unique: string) => Draft])[] = [
  [50, newLoad],
  [8, newOtherTransfer],
  [6, newBatch],
  [6, (random, unique) => ({ ...newLoad(random, unique), ...asOperation('explain_transfer') })],
  [6, newDeposit],
  [3, newWithdrawal],
  [4, newCard],
  [1, newKey],
  [1, newProgram],
  [7, newCapture],
  [4, newCancel],
  [5, newReversal],
  [3, newMisplaced],
  [3, newMetadata],
  [4, newCardChange],
  [32, newReading],
];

const TOTAL = KINDS.reduce((sum, [weight]) => sum + weight, 0);

/** A request with nothing wrong; `unique` keeps its keys and names from those of all others. */
export function newDraft(random: Random, unique: string): Draft {
  let place = random.below(TOTAL);
  for (const [weight, make] of KINDS) {
    if (place < weight) return make(random, unique);
    place -= weight;
  }
  return newLoad(random, unique);
}
