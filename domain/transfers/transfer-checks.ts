import { CARD_RULES, type Card, cardRefusal, cardStatusOn } from '../cards/card.ts';
import type { RefusalCode } from '../error-codes.ts';
import type { Direction } from '../ledger/limits.ts';
import { Refusal, type Seen } from '../refusal.ts';
import { allDisabling, type SwitchSetting, scopeOf } from '../switch.ts';
import {
  examineAvailable,
  examineMaximum,
  examineMaximumAmount,
  examineMinimumAmount,
  examinePeriodLimits,
} from './limit-checks.ts';
import { MAX_HOLD_MILLISECONDS, MAX_SCHEDULE_MILLISECONDS, type TransferTerms, type TransferType } from './transfer.ts';
import { type Finding, NOT_EVALUATED, type TransferView } from './transfer-view.ts';

/** One rule about creating a transfer. */
export type TransferCheck = {
  readonly name: string;
  readonly needsAmount?: true;
  /** Whether the check depends on balances or usage. For a scheduled transfer, it then runs only when the transfer is due. */
  readonly whenDue?: true;
  /** Whether the check is about the request only. For a scheduled transfer, it then does not run again when the transfer is due. */
  readonly onlyWhenMade?: true;
  readonly examine: (terms: TransferTerms, view: TransferView) => Finding;
};

/**
 * Every rule about creating a transfer, in order of precedence: the first that fails is returned.
 * create_transfer stops at the first failure; explain_transfer runs them all.
 */
export const TRANSFER_CHECKS: readonly TransferCheck[] = [
  { name: 'times', onlyWhenMade: true, examine: examineTimes },
  {
    name: 'service_enabled',
    examine: (terms, view) => examineSwitch({ type: terms.type, connectorId: connectorOf(terms, view) }, view),
  },
  { name: 'card_exists', examine: (terms, view) => examineExistence(terms.cardName, '/card_id', view.card) },
  {
    name: 'destination_card_exists',
    examine: (terms, view) =>
      terms.destinationCardName === null
        ? NOT_EVALUATED
        : examineExistence(terms.destinationCardName, '/destination_card_id', view.destinationCard),
  },
  { name: 'connector', examine: examineConnector },
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

/** The connector that a transfer would go to. A transfer between two cards goes to none. */
function connectorOf({ type }: TransferTerms, { card }: TransferView): string | null {
  return type === 'card_to_card' ? null : (card?.connectorId ?? null);
}

/** Checks that the service is enabled for transfers of a type and to a connector. `null` stands for all of them. */
export function examineSwitch(
  { type, connectorId }: { readonly type: TransferType | null; readonly connectorId: string | null },
  view: Pick<TransferView, 'programId' | 'switches' | 'now'>,
): Finding {
  const scope = { programId: view.programId, transferType: type, connectorId };
  const settings = allDisabling(view.switches, scope, view.now);
  const [setting] = settings;
  if (setting === undefined) return { outcome: 'passed', saw: { disabled: false } };
  const what = {
    service: 'The service is disabled',
    program: 'The service is disabled for this card program',
    transfer_type: `The service is disabled for transfers of type '${type}' in this card program`,
    connector: disabledConnector(setting),
  }[scopeOf(setting)];
  const saw = { disabled: true, ...shownScope(setting), reason: setting.reason, until: shownOrNull(setting.until) };
  const end = endOf(settings);
  const wait = end === null ? {} : { endsIn: end - view.now };
  return { outcome: 'failed', saw, refusal: new Refusal('service_disabled', `${what}.`, { saw, ...wait }) };
}

function disabledConnector({ connectorId, transferType, programId }: SwitchSetting): string {
  const kind = transferType === null ? '' : `transfers of type '${transferType}' at `;
  const where = programId === null ? '' : ' in this card program';
  return `The service is disabled for ${kind}the connector '${connectorId}'${where}`;
}

function shownScope(setting: SwitchSetting): Seen {
  const scope = scopeOf(setting);
  return setting.connectorId === null ? { scope } : { scope, connector_id: setting.connectorId };
}

/** When the last of these settings ends automatically, or null if one of them does not. */
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

/**
 * Checks that a card's processor can carry out the transfer: a load or an unload, executed immediately, while the processor can
 * be reached.
 */
function examineConnector(terms: TransferTerms, view: TransferView): Finding {
  const { card, destinationCard } = view;
  const named = card?.connectorId ? card : destinationCard?.connectorId ? destinationCard : undefined;
  const connectorId = named?.connectorId ?? null;
  if (named === undefined || connectorId === null) return NOT_EVALUATED;
  const state = view.connectorState(connectorId);
  const saw = { card_id: named.name, connector_id: connectorId, state };
  const fail = (code: RefusalCode, field: string, message: string): Finding => ({
    outcome: 'failed',
    saw,
    refusal: new Refusal(code, message, { field, saw }),
  });
  const whose = `The card '${named.name}' belongs to the processor '${connectorId}'`;
  if (terms.type === 'card_to_card') {
    const message = `${whose}, and there are no transfers between its cards. Send an unload, then a load.`;
    return fail('connector_not_supported', '/type', message);
  }
  if (terms.capture === 'manual') {
    const message = `${whose}, which moves money immediately: the amount cannot be held and captured later. Omit 'capture'.`;
    return fail('connector_not_supported', '/capture', message);
  }
  // A scheduled transfer is sent when it is due, and waits if the processor cannot be reached then.
  if (state === 'up' || (state === 'down' && terms.scheduledFor !== null)) return { outcome: 'passed', saw };
  const why = state === 'down' ? 'which cannot be reached at the moment' : 'which this service is not connected to';
  return fail('processor_unavailable', '/card_id', `${whose}, ${why}. Nothing was sent and nothing is held.`);
}

/** Checks that a card's status allows money in or out today. */
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
  const action = direction === 'in' ? 'receive money' : 'be debited';
  const rule = CARD_RULES[status].moneyOut ? ' Its balance can be unloaded or moved to another card.' : '';
  const when = status === 'expired' ? ` (last valid day: ${card.expiresOn})` : '';
  const message = `The card '${card.name}' ${CARD_RULES[status].meaning}${when} and cannot ${action}.${rule}`;
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
  const taker = view.referenceTakenBy.startsWith('mvi_')
    ? `a transfer of the ledger that the card moved in from (${view.referenceTakenBy})`
    : `the transfer ${view.referenceTakenBy}`;
  const message = `The reference '${terms.reference}' already belongs to ${taker}. A reference names one transfer of a card program at a time.`;
  const refusal = new Refusal('duplicate_reference', message, { field: '/reference', saw });
  return { outcome: 'failed', saw, refusal };
}
