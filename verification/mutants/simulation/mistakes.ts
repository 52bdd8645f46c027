import { COMMIT, GUARD, RELAY } from './commit.ts';
import type { NamedMistake } from './make.ts';
import { PROCESSORS } from './processors.ts';
import { DUE, LIMITS, PROGRAM_CHANGES, SWITCH } from './rules.ts';
import { DELIVERY, WEBHOOKS } from './webhooks.ts';

/** The mistakes in all simulated parts. The simulation must find each of them. */
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
