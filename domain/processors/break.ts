import { type Attempt, type InBooks, isEnded, movedInBooks } from './attempt.ts';

/** The kinds of contradictions to the books. */
export const BREAK_KINDS = [
  'late_approval',
  'contradiction',
  'unknown_attempt',
  'unhandled_notice',
  'reused_notice_id',
  'missing_in_ledger',
  'duplicate',
  'missing_in_file',
  'file_missing',
] as const;

export type BreakKind = (typeof BREAK_KINDS)[number];

/**
 * The accounts that can bear the difference of a break: the funding of the card program, the money of the card at its processor
 * (`clearing`), or the loss of the operator.
 */
export const BOOK_AGAINST = ['funding', 'clearing', 'loss'] as const;

export type BookAgainst = (typeof BOOK_AGAINST)[number];

/** The facts that a booking depends on. Amounts are in minor units. */
export type Difference = {
  readonly kind: BreakKind;
  /** The attempt that the break is about. Null if there is none. */
  readonly attempt: (InBooks & Pick<Attempt, 'kind'>) | null;
  /** The amount that the processor says it has moved. Null if that is not known. */
  readonly statedAmount: bigint | null;
  readonly bookedAgainst: BookAgainst | null;
};

/** One way to book the difference of a break: money moves from one account to another. */
export type Booking = {
  readonly against: BookAgainst;
  readonly from: BookAgainst | 'suspense';
  readonly to: BookAgainst | 'suspense';
  readonly amount: bigint;
  /** The change of the amount that the processor has moved, according to the books. Can be negative. */
  readonly correction: bigint;
};

// Invariant: A booking closes the gap between a processor and the books, and a late approval leaves suspense at zero
// Kept by: `bookingsOf`
// Tested by: `domain/processors/break.test.ts`, `test/api/processors/breaks.test.ts`

/** The bookings that would close the gap of a break. Empty if there is no gap, or if it is not known. */
export function bookingsOf(found: Difference): readonly Booking[] {
  const { kind, attempt, statedAmount } = found;
  if (attempt === null) return [];
  if (kind === 'late_approval') return bookingsOfLateApproval(attempt, found.bookedAgainst);
  // If a file has the order after all, that is a contradiction, which has its own bookings.
  if (kind === 'missing_in_file' && found.bookedAgainst !== null) return [];
  if (statedAmount === null || !isEnded(attempt.status)) return [];
  const gap = statedAmount - movedInBooks(attempt);
  if (gap === 0n) return [];
  const isReceiving = (attempt.kind === 'push') === gap > 0n;
  const amount = gap > 0n ? gap : -gap;
  return (['funding', 'loss'] as const).map((against) => ({
    ...between(against, 'clearing', isReceiving),
    amount,
    correction: gap,
  }));
}

/** A late approval was posted between the card and suspense, so a booking returns the amount to suspense. */
function bookingsOfLateApproval(
  attempt: NonNullable<Difference['attempt']>,
  bookedAgainst: BookAgainst | null,
): readonly Booking[] {
  if (bookedAgainst !== null) return [];
  const { kind, amount } = attempt;
  // According to the books, the card can return only what it has.
  const choices = BOOK_AGAINST.filter((against) => against !== 'clearing' || movedInBooks(attempt) >= amount);
  return choices.map((against) => ({
    ...between(against, 'suspense', kind === 'push'),
    amount,
    correction: against === 'clearing' ? -amount : 0n,
  }));
}

function between(
  against: BookAgainst,
  uneven: 'clearing' | 'suspense',
  isReceiving: boolean,
): Pick<Booking, 'against' | 'from' | 'to'> {
  return isReceiving ? { against, from: against, to: uneven } : { against, from: uneven, to: against };
}
