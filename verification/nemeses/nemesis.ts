import type { Tally } from '../campaign.ts';

/** The target of a nemesis: an environment under load. */
export type Target<Environment> = {
  readonly environment: Environment;
  readonly random: () => number;
  /** Collects figures. A nemesis reports no violations: if it cannot act, it throws. */
  readonly tally: Tally;
  /** The URLs of the services. */
  readonly urls: readonly string[];
};

/** `since` is the time from `performance.now()` at the beginning of the last `inject` or `heal`. */
type Act<Environment> = (target: Target<Environment>, since: number) => Promise<void>;

/**
 * A fault, which can be combined with any environment that can cause it. A campaign calls these functions in the order
 * in which they are listed. Times are in milliseconds.
 */
export type Nemesis<Environment> = {
  readonly name: string;
  /** Waits for the right moment, or changes something that no caller notices. */
  readonly prepare?: Act<Environment>;
  readonly inject: Act<Environment>;
  /** Waits until the fault has had its expected effect. */
  readonly during?: Act<Environment>;
  /** The shortest and the longest time that the fault lasts after `during`. */
  readonly lasts?: readonly [least: number, most: number];
  /** Whether none or some of the transfers that are sent while the fault lasts must be acknowledged. */
  readonly acknowledged?: 'none' | 'some';
  /** Ends the fault. From here on, transfers must succeed again. Without it, the environment heals automatically. */
  readonly heal?: Act<Environment>;
  /** Makes the environment complete again, after the first transfer has succeeded. */
  readonly repair?: Act<Environment>;
};
