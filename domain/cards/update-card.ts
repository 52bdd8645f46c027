import type { Account } from '../ledger/ledger.ts';
import { changeLimits, type LimitsChange, sameLimits } from '../ledger/limits.ts';
import { formatMoney, MAXIMUM_AMOUNT } from '../ledger/money.ts';
import { changeMetadata, type Metadata, type MetadataChange, sameMetadata } from '../metadata.ts';
import { Refusal } from '../refusal.ts';
import { begin, type TransferPlan } from '../transfers/create-transfer.ts';
import { examineReceivingAccount } from '../transfers/limit-checks.ts';
import { newTransfer, plainTerms, type TransferCreation } from '../transfers/transfer.ts';
import { examineSwitch } from '../transfers/transfer-checks.ts';
import type { TransferView } from '../transfers/transfer-view.ts';
import { CARD_MOVES, CARD_RULES, type Card, type CardStatus, cardStatusOn } from './card.ts';

/** A card, and the other fields of its record, which no rule uses. */
export type CardProfile = {
  readonly card: Card;
  readonly holderReference: string | null;
  readonly lastFour: string | null;
  readonly metadata: Metadata;
};

/** A change of a card: undefined keeps a field, null removes it. */
export type CardChange = {
  readonly status: CardStatus | undefined;
  /** Where the balance goes when the card is closed, or undefined if it must be zero. */
  readonly balanceTo: 'funding' | undefined;
  readonly holderReference: string | null | undefined;
  readonly lastFour: string | null | undefined;
  readonly expiresOn: string | null | undefined;
  readonly limits: LimitsChange | null | undefined;
  readonly metadata: MetadataChange | null | undefined;
};

/** A requested change: the card as the caller named it, and the ids for a transfer of its balance. */
export type CardChangeRequest = {
  readonly cardName: string;
  readonly change: CardChange;
  readonly creation: TransferCreation;
};

/** Everything the rules read, loaded after the locks are taken. */
export type CardView = Pick<TransferView, 'programId' | 'now' | 'rules' | 'switches' | 'account'>;

/** The result of a decision: the card after the change, and the transfer that emptied it, if any. */
export type CardUpdatePlan = {
  readonly profile: CardProfile;
  readonly isChanged: boolean;
  readonly sweep: TransferPlan | null;
};

const SWEEP_DESCRIPTION = 'Balance of the closed card';

/**
 * Decides on a change of a card, or returns the first refusal. A request that changes nothing succeeds, even for a closed card,
 * so that callers can retry after a lost response.
 */
export function decideCardUpdate(
  request: CardChangeRequest,
  profile: CardProfile | undefined,
  view: CardView,
): CardUpdatePlan | Refusal {
  const { change } = request;
  // Only a change that also moves the balance moves money. Blocking a card must work immediately, even while the service is
  // disabled.
  const disabled =
    change.balanceTo === undefined ? undefined : examineSwitch({ type: 'unload', connectorId: null }, view);
  if (disabled?.outcome === 'failed') return disabled.refusal;
  if (profile === undefined) {
    return new Refusal('card_not_found', `There is no card '${request.cardName}' in this card program.`);
  }
  const after = apply(change, profile);
  const refusal = refuseStatus(change, profile, after, view.rules.today);
  if (refusal !== undefined) return refusal;
  const isChanged = changedMembers(profile, after).length > 0;
  const isClosing = isChanged && after.card.status === 'closed';
  const sweep = isClosing ? empty(request, profile.card, view) : null;
  return sweep instanceof Refusal ? sweep : { profile: after, isChanged, sweep };
}

function apply(change: CardChange, before: CardProfile): CardProfile {
  const { card } = before;
  // Defaults replace only undefined, so null is kept.
  const { status = card.status, expiresOn = card.expiresOn } = change;
  const { holderReference = before.holderReference, lastFour = before.lastFour } = change;
  const limits = changeLimits(card.limits, change.limits);
  const metadata = changeMetadata(before.metadata, change.metadata);
  return { card: { ...card, status, expiresOn, limits }, holderReference, lastFour, metadata };
}

/** The fields that the request changes, by their names on the wire. */
function changedMembers(before: CardProfile, after: CardProfile): readonly string[] {
  return [
    ...(before.card.status === after.card.status ? [] : ['status']),
    ...(before.holderReference === after.holderReference ? [] : ['holder_reference']),
    ...(before.lastFour === after.lastFour ? [] : ['last_four']),
    ...(before.card.expiresOn === after.card.expiresOn ? [] : ['expires_on']),
    ...(sameLimits(before.card.limits, after.card.limits) ? [] : ['limits']),
    ...(sameMetadata(before.metadata, after.metadata) ? [] : ['metadata']),
  ];
}

/** Refuses a status that the card cannot change to. A new expiry date in the same request applies first. */
function refuseStatus(
  { status }: CardChange,
  before: CardProfile,
  after: CardProfile,
  today: string,
): Refusal | undefined {
  const { card } = before;
  const [changed] = changedMembers(before, after);
  if (card.status === 'closed' && changed !== undefined) return refuseClosed(card, changed);
  const from = cardStatusOn({ status: card.status, expiresOn: after.card.expiresOn }, today);
  if (status === undefined || status === from || CARD_MOVES[from].includes(status)) return undefined;
  const choice = CARD_MOVES[from].map((name) => `'${name}'`);
  const last = choice.length > 1 ? ` or ${choice.at(-1)}` : '';
  const named = choice.length > 1 ? choice.slice(0, -1).join(', ') : choice.join('');
  const message =
    `The card '${card.name}' is '${from}'${from === 'expired' ? ` (last valid day: ${after.card.expiresOn})` : ''} ` +
    `and cannot change to '${status}'. Allowed: ${named}${last}.` +
    (from === 'expired' ? ` Set 'expires_on' to today or later to make it '${card.status}' again.` : '');
  const saw = { card_id: card.name, from, to: status, expires_on: after.card.expiresOn };
  return new Refusal('invalid_card_status', message, { field: '/status', saw });
}

function refuseClosed(card: Card, changed: string): Refusal {
  const message = `The card '${card.name}' ${CARD_RULES.closed.meaning} and cannot be changed ('${changed}').`;
  const saw = { card_id: card.name, from: 'closed', changed };
  return new Refusal('invalid_card_status', message, { field: `/${changed}`, saw });
}

/**
 * The transfer that moves the balance of a card that is being closed, or null if the balance is zero. It is not a use of the
 * card, so the card's status and limits do not apply, and no limit counts it.
 */
function empty(request: CardChangeRequest, card: Card, view: CardView): TransferPlan | null | Refusal {
  const source = view.account(card.accountId);
  // Amounts that a processor has approved and not settled are not on the card.
  const onCard = source.kind === 'clearing' ? { ...source, balance: 0n } : source;
  const refusal = refuseNotEmpty(card, onCard, request.change.balanceTo);
  if (refusal !== undefined) return refusal;
  if (onCard.balance === 0n) return null;
  const destination = view.account(card.fundingAccountId);
  const tooMuch = refuseTooMuch(card, source, destination, view);
  if (tooMuch !== undefined) return tooMuch;
  const terms = plainTerms('unload', source.balance, card.name);
  const notes = { description: SWEEP_DESCRIPTION };
  const transfer = newTransfer(request.creation, terms, notes, { card, destinationCard: undefined });
  return begin(transfer, { card, ends: { source, destination } }, []);
}

function refuseNotEmpty(card: Card, account: Account, balanceTo: CardChange['balanceTo']): Refusal | undefined {
  const { balance, held, incoming, currency } = account;
  const isHeld = held > 0n || incoming > 0n;
  if (!isHeld && (balance === 0n || balanceTo !== undefined)) return undefined;
  const facts = [
    ...(balance === 0n ? [] : [`its balance is ${formatMoney(balance, currency)}`]),
    ...(held === 0n ? [] : [`pending transfers hold ${formatMoney(held, currency)}`]),
    ...(incoming === 0n ? [] : [`${formatMoney(incoming, currency)} is on hold for it`]),
  ];
  const whatToDo = [
    ...(isHeld && card.connectorId === null ? ['Capture or cancel the pending transfers.'] : []),
    ...(isHeld && card.connectorId !== null
      ? [`Wait until the processor '${card.connectorId}' has reported the outcome of the pending transfers.`]
      : []),
    ...(balance > 0n && balanceTo === undefined
      ? ["Unload the card, or send 'balance_to': 'funding' with the status."]
      : []),
  ];
  const saw = { balance, held, incoming };
  const message = `The card '${card.name}' cannot be closed: ${facts.join(', ')}. ${whatToDo.join(' ')}`;
  return new Refusal('card_not_empty', message, { field: '/status', saw });
}

/** Refuses a balance that is too large for one transfer, or that would exceed the maximum balance of the funding account. */
function refuseTooMuch(card: Card, source: Account, destination: Account, view: CardView): Refusal | undefined {
  const { balance, currency } = source;
  const field = '/balance_to';
  if (balance > MAXIMUM_AMOUNT) {
    const message =
      `The card '${card.name}' has ${formatMoney(balance, currency)}; the maximum of one transfer is ` +
      `${formatMoney(MAXIMUM_AMOUNT, currency)}. Unload the card in parts, then close it.`;
    const saw = { balance, maximum_amount: MAXIMUM_AMOUNT };
    return new Refusal('limit_exceeded', message, { field, saw });
  }
  const finding = examineReceivingAccount(destination, undefined, balance, view);
  return finding.outcome === 'failed'
    ? new Refusal(finding.refusal.code, finding.refusal.message, { ...finding.refusal.details, field })
    : undefined;
}
