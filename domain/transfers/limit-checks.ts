import type { Card } from '../cards/card.ts';
import { type Account, available, canGive, canTake } from '../ledger/ledger.ts';
import {
  cardLimitsFor,
  type Direction,
  describeBreach,
  describeSource,
  type EffectiveLimit,
  keeps,
  LIMIT_NAMES,
  type LimitName,
  type LimitState,
  maximumBalanceOf,
  type ProgramRules,
  programLimitsFor,
  stateOf,
} from '../ledger/limits.ts';
import { formatMoney, MAXIMUM_BALANCE } from '../ledger/money.ts';
import { Refusal, type Seen, type SeenValue } from '../refusal.ts';
import type { TransferTerms, TransferType } from './transfer.ts';
import { endsOf, type Finding, NOT_EVALUATED, Passed, type TransferView } from './transfer-view.ts';

/** A side of a transfer to which limits apply. */
export type LimitedSide = {
  readonly accountId: string;
  readonly direction: Direction;
  readonly currency: string;
  /** Its name in messages. */
  readonly name: string;
  readonly limits: readonly EffectiveLimit[];
};

/** The sides whose limits apply to a transfer and count it: its cards, and the program if funding is a side. */
export function limitedSides(
  type: TransferType,
  card: Card,
  destinationCard: Card | undefined,
  rules: ProgramRules,
): readonly LimitedSide[] {
  const sideOf = (named: Card, direction: Direction): LimitedSide => ({
    accountId: named.accountId,
    direction,
    currency: named.currency,
    name: `The card '${named.name}'`,
    limits: cardLimitsFor(named, rules, direction),
  });
  if (type === 'card_to_card') {
    return destinationCard === undefined ? [] : [sideOf(card, 'out'), sideOf(destinationCard, 'in')];
  }
  const direction = type === 'load' ? 'in' : 'out';
  const program = {
    accountId: card.fundingAccountId,
    direction,
    currency: card.currency,
    name: "The card program's cards together",
    limits: programLimitsFor(rules, card.currency, direction),
  } as const;
  return [sideOf(card, direction), program];
}

/** Checks the amount against every minimum of its cards and its program. */
export function examineMinimumAmount(terms: TransferTerms, view: TransferView): Finding {
  return examineLimits(terms, view, (name) => name === 'minimum_amount');
}

/** Checks the amount against every maximum of its cards and its program. */
export function examineMaximumAmount(terms: TransferTerms, view: TransferView): Finding {
  return examineLimits(terms, view, (name) => name === 'maximum_amount');
}

/** Checks the amount against every limit of a period of its cards and its program. */
export function examinePeriodLimits(terms: TransferTerms, view: TransferView): Finding {
  return examineLimits(terms, view, (name) => LIMIT_NAMES[name].period !== null);
}

function examineLimits(terms: TransferTerms, view: TransferView, concerns: (name: LimitName) => boolean): Finding {
  const { card, destinationCard, rules } = view;
  if (card === undefined || (terms.type === 'card_to_card' && destinationCard === undefined)) return NOT_EVALUATED;
  const examined: { readonly state: LimitState; readonly direction: Direction }[] = [];
  for (const side of limitedSides(terms.type, card, destinationCard, rules)) {
    const { direction } = side;
    for (const limit of side.limits) {
      if (!concerns(limit.name)) continue;
      const state = stateOf(limit, view.usage(side.accountId, direction), rules.calendar);
      examined.push({ state, direction });
      if (keeps(state, terms.amount)) continue;
      const saw = sawOfLimits(terms, examined);
      const refusal = new Refusal(codeOf(state), describeBreach(state, terms.amount, side), { field: '/amount', saw });
      return { outcome: 'failed', saw, refusal };
    }
  }
  return examined.length === 0 ? NOT_EVALUATED : new Passed(() => sawOfLimits(terms, examined));
}

function sawOfLimits(
  terms: TransferTerms,
  examined: readonly { readonly state: LimitState; readonly direction: Direction }[],
): Seen {
  const saw: Record<string, SeenValue> = { amount: terms.amount };
  for (const { state, direction } of examined) saw[`${state.source}_${direction}_${state.name}`] = sawOf(state);
  return saw;
}

function sawOf({ used, value }: LimitState): SeenValue {
  return used === null ? value : { used, limit: value };
}

function codeOf(state: LimitState): 'limit_exceeded' | 'amount_too_large' | 'amount_too_small' {
  if (state.period !== null) return 'limit_exceeded';
  return state.name === 'minimum_amount' ? 'amount_too_small' : 'amount_too_large';
}

/** Checks that the source has the amount available. */
export function examineAvailable(terms: TransferTerms, view: TransferView): Finding {
  const ends = endsOf(terms, view);
  if (ends === undefined) return NOT_EVALUATED;
  const { source } = ends;
  const describe = (): Seen => ({
    account: source.kind,
    available: available(source),
    amount: terms.amount,
  });
  if (canTake(source, terms.amount)) return new Passed(describe);
  const whose = source.kind === 'card' ? `The card '${view.card?.name}'` : "The card program's funding account";
  const message =
    `${whose} has ${formatMoney(available(source), source.currency)} available; the transfer is for ` +
    `${formatMoney(terms.amount, source.currency)}.`;
  const saw = describe();
  const refusal = new Refusal('insufficient_funds', message, { field: '/amount', saw });
  return { outcome: 'failed', saw, refusal };
}

/** Checks that the destination can receive the amount. */
export function examineMaximum(terms: TransferTerms, view: TransferView): Finding {
  const ends = endsOf(terms, view);
  if (ends === undefined) return NOT_EVALUATED;
  return examineReceivingAccount(
    ends.destination,
    terms.type === 'card_to_card' ? view.destinationCard : view.card,
    terms.amount,
    view,
  );
}

/**
 * Checks that an account can receive an amount on top of all money that may still arrive: within the largest possible balance
 * and, for a card, within its maximum balance.
 */
export function examineReceivingAccount(
  destination: Account,
  card: Card | undefined,
  amount: bigint,
  view: Pick<TransferView, 'rules'>,
): Finding {
  const { balance, incoming, currency } = destination;
  const bound = destination.kind === 'card' && card !== undefined ? maximumBalanceOf(card, view.rules) : null;
  const describe = (): Seen => ({
    account: destination.kind,
    balance,
    incoming,
    amount,
    maximum_balance: bound?.value ?? null,
  });
  const refuse = (message: string): Finding => {
    const saw = describe();
    return { outcome: 'failed', saw, refusal: new Refusal('limit_exceeded', message, { field: '/amount', saw }) };
  };
  if (bound !== null && balance + incoming + amount > bound.value) {
    const left = bound.value > balance + incoming ? bound.value - balance - incoming : 0n;
    const coming = incoming === 0n ? '' : ` and ${formatMoney(incoming, currency)} incoming from pending transfers`;
    return refuse(
      `The card '${card?.name}' may hold ${formatMoney(bound.value, currency)}: ${formatMoney(balance, currency)} on ` +
        `the card${coming}, ${formatMoney(left, currency)} left; the transfer is for ` +
        `${formatMoney(amount, currency)}. Its 'maximum_balance' limit (${describeSource(bound.source)}) allows more when ` +
        'money leaves the card.',
    );
  }
  if (canGive(destination, amount)) return new Passed(describe);
  return refuse(
    `The transfer would exceed the maximum balance of the ${destination.kind} account, ` +
      `${formatMoney(MAXIMUM_BALANCE, currency)}.`,
  );
}
