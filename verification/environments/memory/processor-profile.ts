import type { Traits } from '../../../domain/processors/order.ts';
import type { Random } from '../../../test/harness/random.ts';

/** The behavior of the processor in a schedule. */
export type ProcessorProfile = {
  readonly traits: Traits;
  /** Whether the processor sends notices. */
  readonly notifies: boolean;
  /** The chances that a message is lost, or slow. */
  readonly losing: number;
  readonly slowness: number;
  /** The chance that the processor executes an order that it has declined. */
  readonly lying: number;
  /** The start and end of an outage, in milliseconds since the schedule began. */
  readonly outage: readonly [from: number, to: number];
  /** How long faults continue after the last request, in milliseconds. */
  readonly troubleMilliseconds: number;
};

/** The longest outage. It is longer than a breaker takes to open and to be probed. */
const MAX_OUTAGE_MILLISECONDS = 60_000;

/** Most schedules end after the inquiry about a lost order. Some last longer. */
const TROUBLE_MILLISECONDS = [0, 0, 50_000, 150_000];

/** Draws the processor of a schedule. Returns undefined for most schedules. */
export function drawProcessor(random: Random, share: number): ProcessorProfile | undefined {
  if (!random.chance(share)) return undefined;
  const rate = (chance: number, most: number): number =>
    random.chance(chance) ? random.below(1000) * most * 0.001 : 0;
  const kind = random.pick(['asked', 'asked', 'asked', 'reversed', 'silent'] as const);
  const from = random.below(3_000);
  return {
    traits: {
      hasInquiry: kind === 'asked',
      canResend: random.chance(0.7),
      keyMemorySeconds: random.pick([null, 60, 86_400]),
      settleDelaySeconds: random.pick([0, 2, 40, random.below(60)]),
      notFoundFinalSeconds: random.pick([10, 30, 60]),
      reversal: kind === 'reversed' ? random.pick(['request', 'advice'] as const) : 'none',
      readySeconds: random.pick([5, 60]),
      whenDown: random.pick(['refuse', 'queue'] as const),
      maxInFlight: random.pick([1, 2, 16]),
      // The simulation covers no settlement files.
      settledWithinHours: null,
    },
    notifies: kind === 'silent' || random.chance(0.6),
    losing: rate(0.7, 0.5),
    slowness: rate(0.6, 0.4),
    lying: rate(0.3, 0.3),
    outage: random.chance(0.25) ? [from, from + random.below(MAX_OUTAGE_MILLISECONDS)] : [0, 0],
    troubleMilliseconds: random.pick(TROUBLE_MILLISECONDS),
  };
}
