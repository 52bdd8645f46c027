import { CARD_RULES, type Card, cardRefusal, cardStatusOn } from '../cards/card.ts';
import { type Account, available, canGive, canTake, type Ends } from '../ledger/ledger.ts';
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
  type Usage,
} from '../ledger/limits.ts';
import { formatMoney, MAXIMUM_BALANCE } from '../ledger/money.ts';
import { Refusal } from '../refusal.ts';
import type { Seen, SeenValue } from '../seen.ts';
import { allDisabling, type SwitchSetting, scopeOf } from '../switch.ts';
import { MAX_HOLD_MILLISECONDS, MAX_SCHEDULE_MILLISECONDS } from './hold.ts';
import type { TransferTerms, TransferType } from './transfer.ts';

/** What the rules use, all of it read after the locks were taken. */
export type TransferView = {
  readonly programId: string;
  /** The database's clock, in milliseconds since 1970. */
  readonly now: number;
  readonly rules: ProgramRules;
  readonly switches: readonly SwitchSetting[];
  readonly card: Card | undefined;
  readonly destinationCard: Card | undefined;
  readonly account: (accountId: string) => Account;
  /**
   * Totals of the transfers in the current periods, by account: the card's own, or the funding account's for the
   * program.
   */
  readonly usage: (accountId: string, direction: Direction) => Usage;
  /** Id on the wire of the transfer that already has the same reference. */
  readonly referenceTakenBy: string | undefined;
};

/** The result of one check. `not_evaluated`: an earlier check failed on what it needs. */
export type Finding =
  | { readonly outcome: 'passed'; readonly saw: Seen }
  | { readonly outcome: 'failed'; readonly saw: Seen; readonly refusal: Refusal }
  | { readonly outcome: 'not_evaluated' };

/** One rule about creating a transfer. */
export type TransferCheck = {
  readonly name: string;
  /** Whether it needs a valid amount. */
  readonly needsAmount?: true;
  /** Whether it depends on balances or usage; a scheduled transfer is then checked only when it is due. */
  readonly whenDue?: true;
  /** Whether it is about the request only; a scheduled transfer is then not checked again when it is due. */
  readonly onlyWhenMade?: true;
  readonly examine: (terms: TransferTerms, view: TransferView) => Finding;
};

/** A passed check. What it used is only formatted where it is shown: by explain_transfer. */
class Passed {
  readonly outcome = 'passed';
  readonly #describe: () => Seen;

  constructor(describe: () => Seen) {
    this.#describe = describe;
  }

  get saw(): Seen {
    return this.#describe();
  }
}

/** The result of a check that cannot be evaluated. */
export const NOT_EVALUATED: Finding = { outcome: 'not_evaluated' };

/**
 * Every rule about creating a transfer, in order of precedence: the first that fails is returned.
 * create_transfer stops at the first failure; explain_transfer runs them all.
 */
export const TRANSFER_CHECKS: readonly TransferCheck[] = [
  { name: 'times', onlyWhenMade: true, examine: examineTimes },
  { name: 'service_enabled', examine: examineSwitch },
  { name: 'card_exists', examine: (terms, view) => examineExistence(terms.cardName, '/card_id', view.card) },
  {
    name: 'destination_card_exists',
    examine: (terms, view) =>
      terms.destinationCardName === null
        ? NOT_EVALUATED
        : examineExistence(terms.destinationCardName, '/destination_card_id', view.destinationCard),
  },
  {
    name: 'card_state',
    examine: (terms, view) => examineState(view.card, terms.type === 'load' ? 'in' : 'out', '/card_id', view),
  },
  {
    name: 'destination_card_state',
    examine: (_terms, view) => examineState(view.destinationCard, 'in', '/destination_card_id', view),
  },
  { name: 'currency', examine: examineCurrency },
  { name: 'destination_currency', examine: examineDestinationCurrency },
  { name: 'reference', onlyWhenMade: true, examine: examineReference },
  { name: 'minimum_amount', needsAmount: true, examine: examineMinimumAmount },
  { name: 'maximum_amount', needsAmount: true, examine: examineMaximumAmount },
  { name: 'period_limits', needsAmount: true, whenDue: true, examine: examinePeriodLimits },
  { name: 'maximum_balance', needsAmount: true, whenDue: true, examine: examineMaximum },
  { name: 'available_balance', needsAmount: true, whenDue: true, examine: examineAvailable },
];

/** The accounts between which a transfer moves money; undefined if a card that it names does not exist. */
export function endsOf(
  terms: Pick<TransferTerms, 'type'>,
  view: Pick<TransferView, 'card' | 'destinationCard' | 'account'>,
): Ends | undefined {
  const { card, destinationCard } = view;
  if (card === undefined) return undefined;
  const ofCard = view.account(card.accountId);
  if (terms.type === 'load') return { source: view.account(card.fundingAccountId), destination: ofCard };
  if (terms.type === 'unload') return { source: ofCard, destination: view.account(card.fundingAccountId) };
  if (destinationCard === undefined) return undefined;
  return { source: ofCard, destination: view.account(destinationCard.accountId) };
}

/** An end of a transfer that has limits. */
export type LimitedSide = {
  readonly accountId: string;
  readonly direction: Direction;
  readonly currency: string;
  /** Its name in messages. */
  readonly name: string;
  readonly limits: readonly EffectiveLimit[];
};

/** The ends of a transfer whose limits apply and count it: its cards, and the program if funding is one of them. */
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

/** Times are compared with the database's clock, so they are a rule and not part of the schema of the body. */
function examineTimes(terms: TransferTerms, view: TransferView): Finding {
  const { scheduledFor, expiresAt } = terms;
  if (scheduledFor === null && expiresAt === null) return NOT_EVALUATED;
  const saw = { now: shown(view.now), scheduled_for: shownOrNull(scheduledFor), expires_at: shownOrNull(expiresAt) };
  const fail = (field: string, message: string): Finding => {
    const refusal = new Refusal('create_transfer_schema', message, { field, saw });
    return { outcome: 'failed', saw, refusal };
  };
  if (scheduledFor !== null && scheduledFor <= view.now) {
    return fail('/scheduled_for', `'scheduled_for' is ${shown(scheduledFor)}, but it must be in the future.`);
  }
  if (scheduledFor !== null && scheduledFor > view.now + MAX_SCHEDULE_MILLISECONDS) {
    return fail('/scheduled_for', `'scheduled_for' is ${shown(scheduledFor)}, but it must be within a year.`);
  }
  const start = scheduledFor ?? view.now;
  if (expiresAt !== null && expiresAt <= start) {
    const bound = scheduledFor === null ? 'in the future' : "later than 'scheduled_for'";
    return fail('/expires_at', `'expires_at' is ${shown(expiresAt)}, but it must be ${bound}.`);
  }
  if (expiresAt !== null && expiresAt > start + MAX_HOLD_MILLISECONDS) {
    return fail('/expires_at', `'expires_at' is ${shown(expiresAt)}, but a hold lasts at most 90 days.`);
  }
  return { outcome: 'passed', saw };
}

function shown(time: number): string {
  return new Date(time).toISOString();
}

function shownOrNull(time: number | null): string | null {
  return time === null ? null : shown(time);
}

/** Whether the service is enabled for transfers of a type; for `null`, for all of them. */
export function examineSwitch(
  terms: { readonly type: TransferType | null },
  view: Pick<TransferView, 'programId' | 'switches' | 'now'>,
): Finding {
  const scope = { programId: view.programId, transferType: terms.type };
  const settings = allDisabling(view.switches, scope, view.now);
  const [setting] = settings;
  if (setting === undefined) return { outcome: 'passed', saw: { disabled: false } };
  const what = {
    service: 'The service is disabled',
    program: 'The service is disabled for this card program',
    transfer_type: `The service is disabled for transfers of type '${terms.type}' in this card program`,
  }[scopeOf(setting)];
  const saw = { disabled: true, scope: scopeOf(setting), reason: setting.reason, until: shownOrNull(setting.until) };
  const end = endOf(settings);
  const wait = end === null ? {} : { endsIn: end - view.now };
  return { outcome: 'failed', saw, refusal: new Refusal('service_disabled', `${what}.`, { saw, ...wait }) };
}

/** When the last of these settings ends by itself; null if one of them does not. */
function endOf(settings: readonly SwitchSetting[]): number | null {
  let end = 0;
  for (const { until } of settings) {
    if (until === null) return null;
    if (until > end) end = until;
  }
  return end;
}

function examineExistence(name: string, field: string, card: Card | undefined): Finding {
  if (card !== undefined) return { outcome: 'passed', saw: { card_id: name } };
  const message = `There is no card '${name}' in this card program ('${field.slice(1)}').`;
  const saw = { card_id: name };
  return { outcome: 'failed', saw, refusal: new Refusal('card_not_found', message, { field, saw }) };
}

/** Whether a card's status allows money in or out today. */
export function examineState(
  card: Card | undefined,
  direction: Direction,
  field: string,
  view: Pick<TransferView, 'rules'>,
): Finding {
  if (card === undefined) return NOT_EVALUATED;
  const status = cardStatusOn(card, view.rules.today);
  const code = cardRefusal(status, direction);
  const saw = { card_id: card.name, status, direction, expires_on: card.expiresOn };
  if (code === null) return { outcome: 'passed', saw };
  const deed = direction === 'in' ? 'receive money' : 'be debited';
  const rule = CARD_RULES[status].moneyOut ? ' Its balance can be unloaded or moved to another card.' : '';
  const when = status === 'expired' ? ` (last valid day: ${card.expiresOn})` : '';
  const message = `The card '${card.name}' ${CARD_RULES[status].meaning}${when} and cannot ${deed}.${rule}`;
  return { outcome: 'failed', saw, refusal: new Refusal(code, message, { field, saw }) };
}

function examineCurrency(terms: TransferTerms, view: TransferView): Finding {
  if (view.card === undefined) return NOT_EVALUATED;
  const saw = { requested: terms.currency, card_currency: view.card.currency };
  if (terms.currency === null || terms.currency === view.card.currency) return { outcome: 'passed', saw };
  const message =
    `'currency' is '${terms.currency}', but the card '${view.card.name}' uses ${view.card.currency}. ` +
    `Send '${view.card.currency}' or omit 'currency'.`;
  const refusal = new Refusal('currency_mismatch', message, { field: '/currency', saw });
  return { outcome: 'failed', saw, refusal };
}

function examineDestinationCurrency(_terms: TransferTerms, view: TransferView): Finding {
  const { card, destinationCard } = view;
  if (card === undefined || destinationCard === undefined) return NOT_EVALUATED;
  const saw = { card_currency: card.currency, destination_currency: destinationCard.currency };
  if (card.currency === destinationCard.currency) return { outcome: 'passed', saw };
  const message =
    `The card '${card.name}' uses ${card.currency} and the card '${destinationCard.name}' uses ` +
    `${destinationCard.currency}. Both cards of a card_to_card transfer must have the same currency.`;
  const refusal = new Refusal('currency_mismatch', message, { field: '/destination_card_id', saw });
  return { outcome: 'failed', saw, refusal };
}

function examineReference(terms: TransferTerms, view: TransferView): Finding {
  if (terms.reference === null) return NOT_EVALUATED;
  const saw = { reference: terms.reference, taken_by: view.referenceTakenBy ?? null };
  if (view.referenceTakenBy === undefined) return { outcome: 'passed', saw };
  const message =
    `The reference '${terms.reference}' already belongs to the transfer ${view.referenceTakenBy}. ` +
    'References are unique within a card program.';
  const refusal = new Refusal('duplicate_reference', message, { field: '/reference', saw });
  return { outcome: 'failed', saw, refusal };
}

function examineMinimumAmount(terms: TransferTerms, view: TransferView): Finding {
  return examineLimits(terms, view, (name) => name === 'minimum_amount');
}

function examineMaximumAmount(terms: TransferTerms, view: TransferView): Finding {
  return examineLimits(terms, view, (name) => name === 'maximum_amount');
}

function examinePeriodLimits(terms: TransferTerms, view: TransferView): Finding {
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

function examineAvailable(terms: TransferTerms, view: TransferView): Finding {
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

function examineMaximum(terms: TransferTerms, view: TransferView): Finding {
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
 * Whether an account can receive an amount, together with everything that may still arrive: within the largest possible
 * balance and, for a card, within its maximum balance.
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
