// Invariant: A hold is captured, canceled or expires exactly once
// Kept by: its two accounts are its lock
// Tested by: `test/store/transfers.test.ts`, `verification/campaigns/changes.ts`

/**
 * Money that a pending transfer reserves at its source for its destination, in minor units. A hold exists only while it is open,
 * and is deleted once it is captured, canceled or expired. An account's `held` is the sum of the holds on it.
 */
export type Hold = {
  readonly programId: string;
  readonly transferId: string;
  readonly sourceAccountId: string;
  readonly destinationAccountId: string;
  readonly amount: bigint;
  /** When it expires, in milliseconds since 1970, or null if it waits for a processor, which ends it. */
  readonly expiresAt: number | null;
  /** Start of the day whose limits counted it, in milliseconds since 1970. Released amounts are given back to that day. */
  readonly dayStart: number;
};

/** Default duration of a hold, in milliseconds: seven days. */
export const DEFAULT_HOLD_MILLISECONDS = 7 * 24 * 60 * 60 * 1000;

/** Maximum duration of a hold, in milliseconds: ninety days. */
export const MAX_HOLD_MILLISECONDS = 90 * 24 * 60 * 60 * 1000;

/** How far ahead a transfer may be scheduled, in milliseconds: a leap year. */
export const MAX_SCHEDULE_MILLISECONDS = 366 * 24 * 60 * 60 * 1000;
