import type { RefusalCode } from '../error-codes.ts';
import { type Account, available } from '../ledger/ledger.ts';
import { type Direction, type LimitState, maximumBalanceOf, mostAllowed, stateOf } from '../ledger/limits.ts';
import { MAXIMUM_AMOUNT, MAXIMUM_BALANCE, MINIMUM_AMOUNT } from '../ledger/money.ts';
import { allDisabling } from '../switch.ts';
import { limitedSides } from '../transfers/limit-checks.ts';
import type { TransferType } from '../transfers/transfer.ts';
import type { TransferView } from '../transfers/transfer-view.ts';
import { type Card, cardRefusal, cardStatusOn } from './card.ts';

/** The part of the view that a card's outlook depends on. */
export type CardLimitsView = Pick<TransferView, 'programId' | 'now' | 'rules' | 'switches' | 'account' | 'usage'>;

/** What a card can still do in one direction. Amounts in minor units. */
export type DirectionOutlook = {
  /** The error code that refuses money in this direction because of the card's status, or null if the status allows it. */
  readonly code: RefusalCode | null;
  /** The largest load (`in`) or unload (`out`) that would succeed now, or 0 if none would. */
  readonly most: bigint;
  /** The smallest amount of one transfer. */
  readonly least: bigint;
  /** Every limit that applies: the card's own, then those that all cards of the program share. */
  readonly limits: readonly LimitState[];
};

/** What a card can still do. `left` is how much more it can receive before it reaches its maximum balance. */
export type CardOutlook = Readonly<Record<Direction, DirectionOutlook>> & {
  readonly maximumBalance: (NonNullable<ReturnType<typeof maximumBalanceOf>> & { readonly left: bigint }) | null;
};

/**
 * What a card can still do, by the rules of create_transfer: a load or an unload of `most` succeeds, and one minor unit more is
 * refused.
 */
export function outlookOf(card: Card, view: CardLimitsView): CardOutlook {
  const { balance, incoming } = view.account(card.accountId);
  const bound = maximumBalanceOf(card, view.rules);
  const left = bound === null ? null : atLeastNothing(bound.value - balance - incoming);
  return {
    in: outlookTo('in', card, left, view),
    out: outlookTo('out', card, null, view),
    maximumBalance: bound === null || left === null ? null : { ...bound, left },
  };
}

/**
 * What a card can still do in one direction. `remainingBalance` is how far the balance is below the card's maximum. It is null if
 * the card has no maximum or no card receives money.
 */
function outlookTo(
  direction: Direction,
  card: Card,
  remainingBalance: bigint | null,
  view: CardLimitsView,
): DirectionOutlook {
  const type = direction === 'in' ? 'load' : 'unload';
  const { rules } = view;
  const limits = limitedSides(type, card, undefined, rules).flatMap((side) =>
    side.limits.map((limit) => stateOf(limit, view.usage(side.accountId, direction), rules.calendar)),
  );
  const [source, destination] = [view.account(card.fundingAccountId), view.account(card.accountId)];
  const funds = direction === 'in' ? between(source, destination) : between(destination, source);
  const code = cardRefusal(cardStatusOn(card, rules.today), direction);
  const least = largest([MINIMUM_AMOUNT, ...limits.flatMap(leastOf)]);
  const isStopped = code !== null || isDisabled(type, card, view);
  const most = isStopped ? 0n : smallest([MAXIMUM_AMOUNT, funds, mostAllowed(limits), remainingBalance]);
  return { code, most: most < least ? 0n : most, least, limits };
}

function isDisabled(type: TransferType, { connectorId }: Card, { switches, programId, now }: CardLimitsView): boolean {
  return allDisabling(switches, { programId, transferType: type, connectorId }, now).length > 0;
}

/** The largest amount that one account can give and the other can receive. */
function between(source: Account, destination: Account): bigint {
  const spare = smallest([
    source.floor === null ? null : available(source) - source.floor,
    source.balance + MAXIMUM_BALANCE,
    MAXIMUM_BALANCE - destination.balance - destination.incoming,
  ]);
  return atLeastNothing(spare);
}

function leastOf({ name, value }: LimitState): readonly bigint[] {
  return name === 'minimum_amount' ? [value] : [];
}

function smallest(bounds: readonly (bigint | null)[]): bigint {
  let least = MAXIMUM_BALANCE;
  for (const bound of bounds) if (bound !== null && bound < least) least = bound;
  return least;
}

function largest(bounds: readonly bigint[]): bigint {
  return bounds.reduce((most, bound) => (bound > most ? bound : most), 0n);
}

function atLeastNothing(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}
