import { CARD_STATUSES, type CardStatus } from './cards/card.ts';
import { type Account, canTake, type Posted, post } from './ledger/ledger.ts';
import { formatMoney, MAXIMUM_BALANCE } from './ledger/money.ts';

/** The statuses that a card can have when it moves in. The date decides `expired`. */
export const MOVED_CARD_STATUSES = CARD_STATUSES.filter(
  (status): status is Exclude<CardStatus, 'closed' | 'expired'> => status !== 'closed' && status !== 'expired',
);

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
  readonly kind: 'card' | 'hold';
  readonly currency: string;
  /** The balance of the card, or the amount of the hold, in minor units. */
  readonly amount: bigint;
};

/** Returns sums after adding lines (`by` is 1) or taking them back (-1). A currency without lines is left out. */
export function withLines(totals: MoveInTotals, lines: readonly CountedLine[], by: 1 | -1): MoveInTotals {
  const sums = new Map(Object.entries(totals));
  for (const { kind, currency, amount } of lines) {
    const { cards, balance, holds, held } = sums.get(currency) ?? NOTHING;
    const change = BigInt(by) * amount;
    const after =
      kind === 'card'
        ? { cards: cards + by, balance: String(BigInt(balance) + change), holds, held }
        : { cards, balance, holds: holds + by, held: String(BigInt(held) + change) };
    if (after.cards === 0 && after.holds === 0) sums.delete(currency);
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
 * Gives a card its opening balance: a posting from the world, because the money was outside this ledger before. Undefined for a
 * balance of zero, or if the world's account cannot pay it without exceeding the range of balances.
 */
export function openingBalance(world: Account, account: Account, amount: bigint): Posted | undefined {
  if (amount === 0n || !canTake(world, amount)) return undefined;
  return post({ index: 0, purpose: 'opening', source: world, destination: account, amount });
}

/** Takes the balance of a moved card back. The card has no open hold. Undefined for a balance of zero. */
export function takeBack(account: Account, world: Account): Posted | undefined {
  if (account.balance === 0n) return undefined;
  return post({ index: 0, purpose: 'opening', source: account, destination: world, amount: account.balance });
}

/** Why a line is refused by the lines before it or by the card program. The service and the command line say it in the same words. */
export const LINE_REFUSALS = {
  duplicate_card: (cardId: string) => `the card program already has a card '${cardId}'.`,
  card_not_found: (cardId: string) =>
    `no earlier line of this move-in has the card '${cardId}'. Its line must come before its holds.`,
  insufficient_funds: (cardId: string, currency: string, available: bigint, amount: bigint) =>
    `the card '${cardId}' has ${formatMoney(available, currency)} available, and the hold is for ${formatMoney(amount, currency)}.`,
  /** `taker` names the transfer or the line that has the reference. */
  duplicate_reference: (reference: string, taker: string) =>
    `the reference '${reference}' already belongs to ${taker}.`,
  limit_exceeded: (currency: string) =>
    `all money in the card program would exceed ${formatMoney(MAXIMUM_BALANCE, currency)}.`,
} as const;
