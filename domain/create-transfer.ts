import type { Card } from './card.ts';
import { CARD_RULES, cardRefusal, cardStatusOn } from './card.ts';
import { type Account, available, canGive, canTake, type Posting, post } from './ledger.ts';
import { formatMoney, MAXIMUM_BALANCE } from './money.ts';
import { Refusal } from './refusal.ts';
import { disabledBy, type SwitchSetting, scopeOf } from './switch.ts';
import type { TransferTerms } from './transfer.ts';

/** What the rules look at, all of it read after the locks were taken. */
export type TransferView = {
  readonly programId: string;
  /** The database's clock, in milliseconds since 1970. */
  readonly now: number;
  /** The day in the program's time zone, YYYY-MM-DD. */
  readonly today: string;
  readonly switches: readonly SwitchSetting[];
  readonly card: Card | undefined;
  readonly destinationCard: Card | undefined;
  readonly account: (accountId: string) => Account;
  /** The transfer that has the same reference, as its id on the wire. */
  readonly referenceTakenBy: string | undefined;
};

/** What one check found. `not_evaluated`: an earlier check left it nothing to look at. */
export type Finding =
  | { readonly outcome: 'passed'; readonly saw: Saw }
  | { readonly outcome: 'failed'; readonly saw: Saw; readonly refusal: Refusal }
  | { readonly outcome: 'not_evaluated' };

type Saw = Readonly<Record<string, string | number | boolean | null>>;

/** One rule about creating a transfer. */
export type TransferCheck = {
  readonly name: string;
  /** Whether it has nothing to look at when the amount is none. */
  readonly needsAmount?: true;
  readonly examine: (terms: TransferTerms, view: TransferView) => Finding;
};

/** What a check finds that has nothing to look at. */
export const NOT_EVALUATED: Finding = { outcome: 'not_evaluated' };

/**
 * Every rule about creating a transfer, in the order in which a fault is answered: the first that fails wins.
 * create_transfer stops at the first failure; explain_transfer runs them all.
 */
export const TRANSFER_CHECKS: readonly TransferCheck[] = [
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
  { name: 'reference', examine: examineReference },
  { name: 'maximum_balance', needsAmount: true, examine: examineMaximum },
  { name: 'available_balance', needsAmount: true, examine: examineAvailable },
];

/** A transfer that may be made: the posting it makes and the two accounts as they are afterwards. */
export type TransferPlan = {
  readonly postings: readonly Posting[];
  readonly accounts: readonly Account[];
  readonly card: Card;
  readonly destinationCard: Card | undefined;
};

/** Decides whether a transfer may be made and what it posts, or answers with the refusal that comes first. */
export function decideTransfer(terms: TransferTerms, view: TransferView): TransferPlan | Refusal {
  for (const check of TRANSFER_CHECKS) {
    const finding = check.examine(terms, view);
    if (finding.outcome === 'failed') return finding.refusal;
  }
  const ends = endsOf(terms, view);
  if (ends === undefined || view.card === undefined)
    throw new Error('the checks let through a transfer without a card');
  const posted = post({ index: 0, purpose: terms.type, ...ends, amount: terms.amount });
  return {
    postings: [posted.posting],
    accounts: [posted.source, posted.destination],
    card: view.card,
    destinationCard: view.destinationCard,
  };
}

/** The accounts that a transfer moves money between, or undefined when a card it names does not exist. */
export function endsOf(
  terms: Pick<TransferTerms, 'type'>,
  view: Pick<TransferView, 'card' | 'destinationCard' | 'account'>,
): { readonly source: Account; readonly destination: Account } | undefined {
  const { card, destinationCard } = view;
  if (card === undefined) return undefined;
  const ofCard = view.account(card.accountId);
  if (terms.type === 'load') return { source: view.account(card.fundingAccountId), destination: ofCard };
  if (terms.type === 'unload') return { source: ofCard, destination: view.account(card.fundingAccountId) };
  if (destinationCard === undefined) return undefined;
  return { source: ofCard, destination: view.account(destinationCard.accountId) };
}

function examineSwitch(terms: TransferTerms, view: TransferView): Finding {
  const setting = disabledBy(view.switches, view.programId, terms.type, view.now);
  if (setting === undefined) return { outcome: 'passed', saw: { disabled: false } };
  const what = {
    service: 'The service is disabled',
    program: 'The service is disabled for this card program',
    transfer_type: `The service is disabled for transfers of type '${terms.type}' in this card program`,
  }[scopeOf(setting)];
  const saw = { disabled: true, scope: scopeOf(setting), reason: setting.reason, until: setting.until };
  const until = setting.until === null ? {} : { until: setting.until };
  return { outcome: 'failed', saw, refusal: new Refusal('service_disabled', `${what}.`, { saw, ...until }) };
}

function examineExistence(name: string, field: string, card: Card | undefined): Finding {
  if (card !== undefined) return { outcome: 'passed', saw: { card_id: name } };
  const message = `There is no card '${name}' in this card program ('${field.slice(1)}').`;
  const saw = { card_id: name };
  return { outcome: 'failed', saw, refusal: new Refusal('card_dne', message, { field, saw }) };
}

function examineState(card: Card | undefined, direction: 'in' | 'out', field: string, view: TransferView): Finding {
  if (card === undefined) return NOT_EVALUATED;
  const status = cardStatusOn(card, view.today);
  const code = cardRefusal(status, direction);
  const saw = { card_id: card.name, status, direction, expires_on: card.expiresOn };
  if (code === null) return { outcome: 'passed', saw };
  const deed = direction === 'in' ? 'receive money' : 'be debited';
  const rule = CARD_RULES[status].moneyOut ? ' What is on it can be unloaded or moved to another card.' : '';
  const when = status === 'expired' ? ` (its last day was ${card.expiresOn})` : '';
  const message = `The card '${card.name}' ${CARD_RULES[status].meaning}${when} and cannot ${deed}.${rule}`;
  return { outcome: 'failed', saw, refusal: new Refusal(code, message, { field, saw }) };
}

function examineCurrency(terms: TransferTerms, view: TransferView): Finding {
  if (view.card === undefined) return NOT_EVALUATED;
  const saw = { requested: terms.currency, card_currency: view.card.currency };
  if (terms.currency === null || terms.currency === view.card.currency) return { outcome: 'passed', saw };
  const message =
    `'currency' is '${terms.currency}', but the card '${view.card.name}' is kept in ${view.card.currency}. ` +
    `Send '${view.card.currency}' or leave 'currency' out.`;
  const refusal = new Refusal('currency_mismatch', message, { field: '/currency', saw });
  return { outcome: 'failed', saw, refusal };
}

function examineDestinationCurrency(_terms: TransferTerms, view: TransferView): Finding {
  const { card, destinationCard } = view;
  if (card === undefined || destinationCard === undefined) return NOT_EVALUATED;
  const saw = { card_currency: card.currency, destination_currency: destinationCard.currency };
  if (card.currency === destinationCard.currency) return { outcome: 'passed', saw };
  const message =
    `The card '${card.name}' is kept in ${card.currency} and the card '${destinationCard.name}' in ` +
    `${destinationCard.currency}. Both cards of a card_to_card transfer must have one currency.`;
  const refusal = new Refusal('currency_mismatch', message, { field: '/destination_card_id', saw });
  return { outcome: 'failed', saw, refusal };
}

function examineReference(terms: TransferTerms, view: TransferView): Finding {
  if (terms.reference === null) return NOT_EVALUATED;
  const saw = { reference: terms.reference, taken_by: view.referenceTakenBy ?? null };
  if (view.referenceTakenBy === undefined) return { outcome: 'passed', saw };
  const message =
    `The reference '${terms.reference}' already belongs to the transfer ${view.referenceTakenBy}. ` +
    'A reference is unique among the transfers of a card program.';
  const refusal = new Refusal('duplicate_reference', message, { field: '/reference', saw });
  return { outcome: 'failed', saw, refusal };
}

function examineAvailable(terms: TransferTerms, view: TransferView): Finding {
  const ends = endsOf(terms, view);
  if (ends === undefined) return NOT_EVALUATED;
  const { source } = ends;
  const saw = { account: source.kind, available: available(source).toString(), amount: terms.amount.toString() };
  if (canTake(source, terms.amount)) return { outcome: 'passed', saw };
  const whose = source.kind === 'card' ? `The card '${view.card?.name}'` : "The card program's funding account";
  const message =
    `${whose} has ${formatMoney(available(source), source.currency)} available, and the transfer is for ` +
    `${formatMoney(terms.amount, source.currency)}.`;
  const refusal = new Refusal('insufficient_funds', message, { field: '/amount', saw });
  return { outcome: 'failed', saw, refusal };
}

function examineMaximum(terms: TransferTerms, view: TransferView): Finding {
  const ends = endsOf(terms, view);
  if (ends === undefined) return NOT_EVALUATED;
  const { destination } = ends;
  const saw = { account: destination.kind, balance: destination.balance.toString(), amount: terms.amount.toString() };
  if (canGive(destination, terms.amount)) return { outcome: 'passed', saw };
  const message =
    `The transfer would take the ${destination.kind} account past the largest balance there is, ` +
    `${formatMoney(MAXIMUM_BALANCE, destination.currency)}.`;
  const refusal = new Refusal('limit_exceeded', message, { field: '/amount', saw });
  return { outcome: 'failed', saw, refusal };
}
