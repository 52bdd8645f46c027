import { COMMIT, GUARD, RELAY } from './commit.ts';
import type { NamedMistake } from './make.ts';
import { PROCESSORS } from './processors.ts';
import { DUE, LIMITS, PROGRAM_CHANGES, SWITCH } from './rules.ts';
import { DELIVERY, WEBHOOKS } from './webhooks.ts';

/** Mistakes of everything that is simulated. Each of them must be found. */
export const MISTAKES: readonly NamedMistake[] = [
  ...GUARD,
  ...COMMIT,
  ...RELAY,
  ...DELIVERY,
  ...WEBHOOKS,
  ...DUE,
  ...LIMITS,
  ...SWITCH,
  ...PROGRAM_CHANGES,
  ...PROCESSORS,
];
