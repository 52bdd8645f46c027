import { CARD_STATUSES, type CardStatus } from './cards/card.ts';
import { type Account, canTake, type Posted, post } from './ledger/ledger.ts';
import { formatMoney, MAXIMUM_BALANCE } from './ledger/money.ts';

/** The statuses that a card can have when it moves in. The date decides `expired`. */
export const MOVED_CARD_STATUSES = CARD_STATUSES.filter(
  (status): status is Exclude<CardStatus, 'closed' | 'expired'> => status !== 'closed' && status !== 'expired',
);

/**
 * What a line of a move-in can be. `transfer`: a finished transfer of the old ledger, whose reference and idempotency key cannot be
 * used again. `change` and `release` bring a card that has moved in to the latest state of the old ledger.
 */
export const MOVE_IN_LINE_KINDS = ['card', 'hold', 'transfer', 'change', 'release'] as const;

export type MoveInLineKind = (typeof MOVE_IN_LINE_KINDS)[number];

/**
 * The state of a move-in. `receiving`: lines are missing; `moved`: all lines have taken effect; `undoing`: it is being taken back,
 * from its last line on; `undone`: nothing of it is left.
 */
export type MoveInStatus = 'receiving' | 'moved' | 'undoing' | 'undone';

/** The sums of a move-in's lines in one currency. Amounts are strings of digits in minor units, because a sum can exceed 2^53 - 1. */
export type MoveInTotal = {
  readonly cards: number;
  readonly balance: string;
  readonly holds: number;
  readonly held: string;
};

/** The sums of a move-in, by currency. */
export type MoveInTotals = Readonly<Record<string, MoveInTotal>>;

const NOTHING: MoveInTotal = { cards: 0, balance: '0', holds: 0, held: '0' };

/** What a line adds to the sums. */
export type CountedLine = {
  readonly kind: MoveInLineKind;
  readonly currency: string;
  /** The balance of the card, the amount of the hold, or what the balance changes by, in minor units. */
  readonly amount: bigint;
};

/** Returns sums after adding lines (`by` is 1) or taking them back (-1). A currency without lines is left out. */
export function withLines(totals: MoveInTotals, lines: readonly CountedLine[], by: 1 | -1): MoveInTotals {
  const sums = new Map(Object.entries(totals));
  for (const { kind, currency, amount } of lines) {
    const { cards, balance, holds, held } = sums.get(currency) ?? NOTHING;
    const counts = {
      card: [1, 0, amount, 0n],
      hold: [0, 1, 0n, amount],
      change: [0, 0, amount, 0n],
      release: [0, -1, 0n, -amount],
      transfer: [0, 0, 0n, 0n],
    } as const;
    const [moreCards, moreHolds, moreBalance, moreHeld] = counts[kind];
    const after = {
      cards: cards + by * moreCards,
      balance: String(BigInt(balance) + BigInt(by) * moreBalance),
      holds: holds + by * moreHolds,
      held: String(BigInt(held) + BigInt(by) * moreHeld),
    };
    const isNothing = after.cards === 0 && after.holds === 0 && after.balance === '0' && after.held === '0';
    if (isNothing) sums.delete(currency);
    else sums.set(currency, after);
  }
  return Object.fromEntries([...sums].sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** Returns whether the moved sums are the stated ones, in every currency. */
export function agree(stated: MoveInTotals, moved: MoveInTotals): boolean {
  return differing(stated, moved).length === 0;
}

/** Returns the first currency with a sum above the stated one, or undefined. */
export function exceeding(stated: MoveInTotals, moved: MoveInTotals): string | undefined {
  return Object.keys(moved).find((currency) => {
    const [limit, sum] = [stated[currency] ?? NOTHING, moved[currency] ?? NOTHING];
    return (
      sum.cards > limit.cards ||
      sum.holds > limit.holds ||
      BigInt(sum.balance) > BigInt(limit.balance) ||
      BigInt(sum.held) > BigInt(limit.held)
    );
  });
}

/** Returns the currencies whose sums differ, in order. */
export function differing(left: MoveInTotals, right: MoveInTotals): readonly string[] {
  const currencies = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort();
  return currencies.filter((currency) => {
    const [one, other] = [left[currency] ?? NOTHING, right[currency] ?? NOTHING];
    return (
      one.cards !== other.cards ||
      one.holds !== other.holds ||
      BigInt(one.balance) !== BigInt(other.balance) ||
      BigInt(one.held) !== BigInt(other.held)
    );
  });
}

/**
 * Changes the balance of a card by an amount, which can be negative. The posting comes from the world or goes back to it, because the
 * money was outside this ledger before. Undefined if nothing changes, if the card has too little available, or if the world's account
 * cannot pay it without exceeding the range of balances.
 */
export function changeBalance(account: Account, world: Account, by: bigint): Posted | undefined {
  const [source, destination, amount] = by > 0n ? [world, account, by] : [account, world, -by];
  if (amount === 0n || !canTake(source, amount)) return undefined;
  return post({ index: 0, purpose: 'opening', source, destination, amount });
}

/** Why a line is refused by the lines before it or by the card program. The service and the command line say it in the same words. */
export const LINE_REFUSALS = {
  duplicate_card: (cardId: string) => `the card program already has a card '${cardId}'.`,
  card_not_found: (cardId: string) =>
    `an earlier line must have the card '${cardId}', or it must be an open card whose money is in this ledger.`,
  insufficient_funds: (cardId: string, currency: string, available: bigint, amount: bigint) =>
    `the card '${cardId}' has ${formatMoney(available, currency)} available, and the hold is for ${formatMoney(amount, currency)}.`,
  too_little_available: (cardId: string, currency: string, available: bigint, amount: bigint) =>
    `the card '${cardId}' has ${formatMoney(available, currency)} available, and its balance would be ${formatMoney(amount, currency)} lower.`,
  /** `taker` names the transfer or the line that has the reference. */
  duplicate_reference: (reference: string, taker: string) =>
    `the reference '${reference}' already belongs to ${taker}.`,
  key_taken: (key: string, taker: string) => `the idempotency key '${key}' was already used by ${taker}.`,
  limit_exceeded: (currency: string) =>
    `all money in the card program would exceed ${formatMoney(MAXIMUM_BALANCE, currency)}.`,
} as const;
