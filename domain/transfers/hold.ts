// Invariant: A hold is captured, canceled or expires exactly once
// Kept by: its two accounts are its lock
// Tested by: `test/store/transfers.test.ts`, `test/crashes/races-of-two.test.ts`

/**
 * Money that a pending transfer keeps at its source for its destination, in minor units. It exists as long as it is
 * open: captured, canceled or expired, it is gone. `held` of an account is the sum of the holds on it.
 */
export type Hold = {
  readonly programId: string;
  /** Inner UUID of the transfer that holds. */
  readonly transferId: string;
  readonly sourceAccountId: string;
  readonly destinationAccountId: string;
  readonly amount: bigint;
  /** When it ends by itself, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** Start of the day on which it was counted towards limits, in milliseconds since 1970: what is given back goes there. */
  readonly dayStart: number;
};

/** How long a hold lasts when the caller does not say, in milliseconds: seven days. */
export const USUAL_HOLD = 7 * 24 * 60 * 60 * 1000;

/** How long a hold may last at most, in milliseconds: ninety days. */
export const LONGEST_HOLD = 90 * 24 * 60 * 60 * 1000;

/** How far ahead a transfer may be scheduled, in milliseconds: a leap year. */
export const LONGEST_SCHEDULE = 366 * 24 * 60 * 60 * 1000;
