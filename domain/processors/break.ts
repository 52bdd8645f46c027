import type { AttemptKind } from './attempt.ts';

/** The kinds of contradictions to the books. */
export const BREAK_KINDS = [
  'late_approval',
  'contradiction',
  'unknown_attempt',
  'unhandled_notice',
  'reused_notice_id',
] as const;

export type BreakKind = (typeof BREAK_KINDS)[number];

/**
 * The accounts that can bear the difference of a break: the funding of the card program, the money of the card at its processor
 * (`clearing`), or the loss of the operator.
 */
export const BOOK_AGAINST = ['funding', 'clearing', 'loss'] as const;

export type BookAgainst = (typeof BOOK_AGAINST)[number];

/** What a booking depends on. Amounts are in minor units. */
export type Difference = {
  readonly kind: BreakKind;
  /** Null without an attempt. */
  readonly attemptKind: AttemptKind | null;
  /** How much more the processor has moved than the transfer; negative for less, null if that is not known. */
  readonly difference: bigint | null;
  /** The part of the difference that is booked. */
  readonly bookedAmount: bigint;
};

/** One way to book the difference of a break: money moves from one account to another. */
export type Booking = {
  readonly against: BookAgainst;
  readonly from: BookAgainst | 'suspense';
  readonly to: BookAgainst | 'suspense';
  readonly amount: bigint;
};

// Invariant: A booking removes the difference between the books and the processor, and the suspense account of a late approval ends at zero
// Kept by: `bookingsOf`
// Tested by: `domain/processors/break.test.ts`, `test/api/processors/breaks.test.ts`

/** The bookings that would even out the difference of a break. None if nothing is left to book, or the difference is not known. */
export function bookingsOf({ kind, attemptKind, difference, bookedAmount }: Difference): readonly Booking[] {
  const open = (difference ?? bookedAmount) - bookedAmount;
  if (attemptKind === null || open === 0n) return [];
  // A late approval was posted between the card and suspense. Any other difference is not in the books yet.
  const [uneven, choices] =
    kind === 'late_approval'
      ? (['suspense', BOOK_AGAINST] as const)
      : (['clearing', ['funding', 'loss'] as const] as const);
  const isReceiving = (attemptKind === 'push') === open > 0n;
  const amount = open > 0n ? open : -open;
  return choices.map((against) =>
    isReceiving ? { against, from: against, to: uneven, amount } : { against, from: uneven, to: against, amount },
  );
}
