import { MAXIMUM_BALANCE } from './money.ts';

// Invariant: Every posting debits and credits the same amount; the accounts of a currency sum to zero
// Kept by: one row per movement
// Tested by: `domain/ledger/ledger.test.ts`; the trial balance after every test

// Invariant: No account is below its floor
// Kept by: the decision, and a CHECK in the database
// Tested by: `test/store/locks.test.ts`, `test/store/races.test.ts`

// Invariant: The held and incoming amounts of accounts are the sum of the open holds
// Kept by: `placeHold`, `releaseHold`; the hold's row is deleted with it
// Tested by: `verification/environments/memory`, against the model; the trial balance after every test

/** The purpose of an account. `world` is everything outside the service and the only kind without a minimum balance. */
export type AccountKind =
  | 'funding'
  | 'card'
  | 'clearing'
  | 'suspense'
  | 'loss'
  | 'fee'
  | 'receivable'
  | 'exchange'
  | 'world';

/** An account. Amounts are in minor units of its currency. `available` is balance - held, never below `floor`. */
export type Account = {
  readonly programId: string;
  readonly accountId: string;
  readonly kind: AccountKind;
  readonly currency: string;
  readonly balance: bigint;
  /** The sum of the open holds on the account: money that is here but reserved. */
  readonly held: bigint;
  /** The sum of the open holds towards the account: money that is elsewhere and may arrive. */
  readonly incoming: bigint;
  /** Minimum available balance, or null for the world account, which has none. */
  readonly floor: bigint | null;
  /** The number of postings on the account. Each posting gets the next number. */
  readonly sequence: bigint;
};

/** The reason for a movement between two accounts. `opening` is the balance that a card had in another ledger, and its undo. */
export type PostingPurpose =
  | 'load'
  | 'unload'
  | 'card_to_card'
  | 'reversal'
  | 'deposit'
  | 'withdrawal'
  | 'correction'
  | 'opening';

/** One amount moved from a source to a destination, so it always balances. */
export type Posting = {
  readonly index: number;
  readonly purpose: PostingPurpose;
  readonly sourceAccountId: string;
  readonly destinationAccountId: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly sourceBalance: bigint;
  readonly destinationBalance: bigint;
  readonly sourceSequence: bigint;
  readonly destinationSequence: bigint;
};

/** A posting, and its two accounts after the posting. */
export type Posted = { readonly posting: Posting; readonly source: Account; readonly destination: Account };

/** A posting that has not been made yet. `index` counts within its transfer. */
export type Movement = {
  readonly index: number;
  readonly purpose: PostingPurpose;
  readonly source: Account;
  readonly destination: Account;
  readonly amount: bigint;
};

/** A broken invariant of the ledger: always a bug, never a refusal. */
export class LedgerViolation extends Error {
  override readonly name = 'LedgerViolation';
}

/** The amount an account can spend, in minor units: balance - held. */
export function available(account: Account): bigint {
  return account.balance - account.held;
}

/** Whether `amount` can be taken from the account: the account stays at or above its floor, and its balance within 2^53 - 1. */
export function canTake(account: Account, amount: bigint): boolean {
  return (
    account.balance - amount >= -MAXIMUM_BALANCE &&
    (account.floor === null || available(account) - amount >= account.floor)
  );
}

/** Whether `amount` can be given to the account: the balance, with all money that may still arrive, stays within 2^53 - 1. */
export function canGive(account: Account, amount: bigint): boolean {
  return account.balance + account.incoming + amount <= MAXIMUM_BALANCE;
}

/** The two accounts of a hold or a movement. */
export type Ends = { readonly source: Account; readonly destination: Account };

/**
 * Holds an amount at its source for its destination. The caller has already checked that the hold is allowed. If it is not, throws
 * {@link LedgerViolation}.
 */
export function placeHold({ source, destination }: Ends, amount: bigint): Ends {
  assertInvariant(amount > 0n, 'the amount of a hold is positive');
  assertInvariant(source.accountId !== destination.accountId, 'a hold has two different accounts');
  assertInvariant(source.programId === destination.programId, 'a hold stays within one program');
  assertInvariant(source.currency === destination.currency, 'a hold stays within one currency');
  assertInvariant(canTake(source, amount), 'a hold leaves its source at or above the floor');
  assertInvariant(canGive(destination, amount), 'a hold keeps its destination within bounds');
  return {
    source: { ...source, held: source.held + amount },
    destination: { ...destination, incoming: destination.incoming + amount },
  };
}

/** Ends a hold, whether its money moves or not. */
export function releaseHold({ source, destination }: Ends, amount: bigint): Ends {
  assertInvariant(amount > 0n && source.held >= amount, 'the source has the hold that ends');
  assertInvariant(destination.incoming >= amount, 'the destination has the hold that ends');
  return {
    source: { ...source, held: source.held - amount },
    destination: { ...destination, incoming: destination.incoming - amount },
  };
}

/**
 * Moves an amount between two accounts and returns both after the movement. The caller has already checked that it is allowed.
 * Throws {@link LedgerViolation} if the movement would break a floor or a bound, or if the currencies differ.
 */
export function post(movement: Movement): Posted {
  const { source, destination, amount } = movement;
  assertInvariant(amount > 0n, 'the amount of a posting is positive');
  assertInvariant(source.accountId !== destination.accountId, 'a posting has two different accounts');
  assertInvariant(source.programId === destination.programId, 'a posting stays within one program');
  assertInvariant(source.currency === destination.currency, 'a posting stays within one currency');
  assertInvariant(canTake(source, amount), 'a posting leaves its source at or above the floor');
  assertInvariant(canGive(destination, amount), 'a posting keeps its destination within bounds');
  const sourceAfter = { ...source, balance: source.balance - amount, sequence: source.sequence + 1n };
  const destinationAfter = {
    ...destination,
    balance: destination.balance + amount,
    sequence: destination.sequence + 1n,
  };
  return {
    source: sourceAfter,
    destination: destinationAfter,
    posting: {
      index: movement.index,
      purpose: movement.purpose,
      sourceAccountId: source.accountId,
      destinationAccountId: destination.accountId,
      amount,
      currency: source.currency,
      sourceBalance: sourceAfter.balance,
      destinationBalance: destinationAfter.balance,
      sourceSequence: sourceAfter.sequence,
      destinationSequence: destinationAfter.sequence,
    },
  };
}

function assertInvariant(holds: boolean, invariant: string): void {
  if (!holds) throw new LedgerViolation(`broken invariant: ${invariant}`);
}
