import type { Card } from '../cards/card.ts';
import { toWireId } from '../identifier.ts';
import { formatMoney } from '../ledger/money.ts';
import {
  type Attempt,
  contradictionInWords,
  isContradicted,
  isMovedLate,
  movedInBooks,
} from '../processors/attempt.ts';
import type { MoneyMoved } from '../refusal.ts';
import {
  statusAt,
  statusOf,
  type Transfer,
  type TransferStatus,
  type TransferTerms,
  waitsForProcessor,
} from './transfer.ts';

/**
 * Where the money of a transfer is: it moved, it did not, it is held, it came back in full or in part, it is unknown whether a
 * processor moved it, or the processor moved it after the transfer had failed.
 */
export const MONEY_STATES = ['yes', 'no', 'held', 'moved_back', 'partly_moved_back', 'unknown', 'moved_late'] as const;

export type MoneyState = (typeof MONEY_STATES)[number];

export const MONEY_MOVED: Readonly<Record<MoneyState, MoneyMoved>> = {
  yes: 'yes',
  no: 'no',
  held: 'no',
  moved_back: 'yes',
  partly_moved_back: 'yes',
  unknown: 'unknown',
  moved_late: 'yes',
};

/** Whether the money of a transfer moved, in a word and in a sentence for people. */
export type MoneySummary = { readonly moved: MoneyState; readonly sentence: string };

/** The facts that the sentence uses. Amounts are minor units, times milliseconds since 1970. */
export type MoneyFacts = Pick<
  Transfer,
  | 'type'
  | 'amount'
  | 'capturedAmount'
  | 'reversedAmount'
  | 'currency'
  | 'status'
  | 'outcome'
  | 'capture'
  | 'cardName'
  | 'destinationCardName'
  | 'expiresAt'
  | 'scheduledFor'
  | 'updatedAt'
  | 'completedAt'
> & {
  /** The error code of a failed transfer, or null if it is not known. */
  readonly errorCode: string | null;
  /** The order to the card's processor. Null or omitted if it was not read, or if there is no processor. */
  readonly attempt?: ProcessorFacts | null;
};

/** The known facts about a processor's attempt to move the money. Times are milliseconds since 1970. */
export type ProcessorFacts = Pick<
  Attempt,
  | 'connectorId'
  | 'status'
  | 'tries'
  | 'unknownSince'
  | 'nextAt'
  | 'lateApprovalAt'
  | 'breakId'
  | 'lateApprovalSettledAt'
  | 'contradictedAt'
  | 'contradiction'
  | 'contradictionBreakId'
  | 'contradictionSettledAt'
  | 'amount'
  | 'correctedAmount'
>;

const FUNDING = "the program's funding";

/** The source and the destination of a transfer in words, such as `the program's funding` and `the card 'card_active'`. */
export function endsInWords({
  type,
  cardName,
  destinationCardName,
}: Pick<TransferTerms, 'type' | 'cardName' | 'destinationCardName'>): {
  readonly source: string;
  readonly destination: string;
} {
  const card = `the card '${cardName}'`;
  if (type === 'load') return { source: FUNDING, destination: card };
  return { source: card, destination: type === 'unload' ? FUNDING : `the card '${destinationCardName}'` };
}

/** Answers "did the money move?" for a transfer in any status, as of the moment `now` (milliseconds since 1970). */
export function moneySentence(facts: MoneyFacts, now: number): MoneySummary {
  return withContradiction(facts, bookedSentence(facts, now));
}

/** Adds the processor's later contradiction, if any, to the answer of the books. */
function withContradiction({ attempt }: MoneyFacts, { moved, sentence }: MoneySummary): MoneySummary {
  const { contradictedAt = null, contradiction = null, contradictionBreakId = null } = attempt ?? {};
  if (!attempt || contradictedAt === null || contradiction === null || contradictionBreakId === null) {
    const isBookedBack = attempt?.status === 'approved' && moved === 'yes' && movedInBooks(attempt) === 0n;
    if (!isBookedBack) return { moved, sentence };
    const missing = `no settlement file of the processor '${attempt.connectorId}' had the order`;
    const booked = `${sentence} But ${missing}, and an operator of the service booked the money back where it came from.`;
    return { moved: 'moved_back', sentence: booked };
  }
  const said = `the processor '${attempt.connectorId}' said ${contradictionInWords(contradiction)}`;
  const when = `${sentence} But at ${momentOf(contradictedAt)} ${said}`;
  const which = `(break ${toWireId('brk', contradictionBreakId)})`;
  if (!isContradicted(attempt)) {
    const settled = momentOf(attempt.contradictionSettledAt);
    const isUndone = moved === 'yes' && movedInBooks(attempt) === 0n;
    const booked = isUndone ? ' and booked: the money is back where it came from' : '';
    const sentenceOfEnd = `${when}, which an operator of the service settled at ${settled}${booked} ${which}.`;
    return { moved: isUndone ? 'moved_back' : moved, sentence: sentenceOfEnd };
  }
  const next = `An operator of the service will find out which is true ${which}. Do not send the transfer again.`;
  return { moved: moved === 'yes' || moved === 'no' ? 'unknown' : moved, sentence: `${when}. ${next}` };
}

function bookedSentence(facts: MoneyFacts, now: number): MoneySummary {
  const status = statusAt(facts, now);
  switch (status) {
    case 'scheduled':
      return { moved: 'no', sentence: scheduledSentence(facts, now) };
    case 'pending':
      return waitsForProcessor(facts) ? waiting(facts) : { moved: 'held', sentence: heldSentence(facts) };
    case 'completed':
      return { moved: stateOfCompleted(facts), sentence: completedSentence(facts) };
    case 'failed':
      return movedLate(facts) ?? { moved: 'no', sentence: failedSentence(facts) };
    case 'canceled':
      return { moved: 'no', sentence: `No money moved: the transfer was canceled${whatWasHeld(facts)}.` };
    case 'expired':
      return { moved: 'no', sentence: expiredSentence(facts) };
  }
}

/** The result that creating a transfer would have: its first status, whether money moves with it, and the same in a sentence. */
export type Foresight = { readonly status: TransferStatus; readonly moneyMoved: MoneyMoved; readonly sentence: string };

/**
 * Describes the effect that creating a transfer of `terms` would have if it succeeds. `behavior`: the requested behavior of the
 * sandbox's simulator, or undefined.
 */
export function foresee(
  terms: TransferTerms,
  card: Pick<Card, 'currency' | 'connectorId'>,
  behavior: string | undefined,
): Foresight {
  const { source, destination } = endsInWords(terms);
  const money = formatMoney(terms.amount, card.currency);
  const status = statusOf(terms, card);
  const isHold = terms.capture === 'manual';
  const unused =
    behavior === undefined ? '' : ' The header Sandbox-Processor changes nothing: the card has no processor.';
  const { connectorId } = card;
  const order =
    connectorId === null
      ? unused
      : ` The processor '${connectorId}' is asked to move the money, and the transfer is pending until it has answered${behaviorClause(connectorId, behavior)}.`;
  if (status === 'scheduled') {
    const what = isHold
      ? `would be held on ${source} for ${destination}`
      : `would move from ${source} to ${destination}`;
    const then = connectorId === null ? order : order.replace(' The', ' Then the');
    return { status, moneyMoved: 'no', sentence: `${money} ${what} at ${momentOf(terms.scheduledFor)}.${then}` };
  }
  if (status === 'completed') {
    return { status, moneyMoved: 'yes', sentence: `${money} would move from ${source} to ${destination}.${order}` };
  }
  const held = `${money} would be held on ${source} for ${destination}`;
  if (isHold) return { status, moneyMoved: 'no', sentence: `${held} until it is captured.${order}` };
  return { status, moneyMoved: 'unknown', sentence: `${held}.${order}` };
}

/** Returns the last clause of a sentence about an order in a sandbox: the behavior that the adapter is asked for. */
function behaviorClause(connectorId: string, behavior: string | undefined): string {
  return behavior === undefined ? '' : `; '${connectorId}' is asked to behave as '${behavior}'`;
}

function scheduledSentence(facts: MoneyFacts, now: number): string {
  const { source, destination } = endsInWords(facts);
  const money = amountOf(facts);
  const what =
    facts.capture === 'manual' ? `be held on ${source} for ${destination}` : `move from ${source} to ${destination}`;
  const due = momentOf(facts.scheduledFor);
  if (facts.scheduledFor !== null && facts.scheduledFor > now) {
    return `No money has moved: ${money} will ${what} at ${due}, unless it is refused at that time or canceled earlier.`;
  }
  return `No money has moved: ${money} was to ${what} at ${due}, and that has not happened yet.`;
}

function heldSentence(facts: MoneyFacts): string {
  const { source, destination } = endsInWords(facts);
  const held = `${amountOf(facts)} is held on ${source} for ${destination}`;
  return `No money has moved: ${held} until ${momentOf(facts.expiresAt)}, unless it is captured or canceled earlier.`;
}

/** A transfer that only its processor can end. The attempt is stored as sent before its first byte is sent. */
function waiting(facts: MoneyFacts): MoneySummary {
  const { source, destination } = endsInWords(facts);
  const attempt = facts.attempt ?? null;
  const processor = attempt === null ? "the card's processor" : `the processor '${attempt.connectorId}'`;
  const held = `${amountOf(facts)} is held on ${source} for ${destination}`;
  const next = attempt === null || attempt.nextAt === null ? '' : ` at ${momentOf(attempt.nextAt)}`;
  if (attempt?.status === 'ready' && attempt.tries === 0) {
    return { moved: 'held', sentence: `No money has moved: ${held}, and nothing has been sent to ${processor} yet.` };
  }
  const unknown = (sentence: string): MoneySummary => ({ moved: 'unknown', sentence });
  if (facts.outcome !== 'unknown') {
    const when =
      attempt?.status === 'pending'
        ? ` The processor has accepted the order, and is asked again${next} at the latest.`
        : '';
    return unknown(
      `It is not known yet whether money moved: ${held} until the outcome at ${processor} is known.${when}`,
    );
  }
  const since = attempt === null || attempt.unknownSince === null ? '' : ` since ${momentOf(attempt.unknownSince)}`;
  const unclear = `It ${since === '' ? 'is' : 'has been'} unknown${since} whether ${processor} has moved the money: ${held} until that is known.`;
  return unknown(`${unclear} ${whatIsDone(attempt, next)} Do not send the transfer again.`);
}

/** The service's action on an unknown outcome. `next` begins with a space if the time is known. */
function whatIsDone(attempt: ProcessorFacts | null, next: string): string {
  switch (attempt?.status) {
    case 'attention':
      return 'An operator of the service must find out.';
    case 'reversing':
      return `The processor is asked to reverse it${next === '' ? '' : `, next${next}`}.`;
    case 'ready':
      return `The processor does not know it yet, so the same order is sent again${next}.`;
    default:
      return `The processor is asked again${next === '' ? ' until it answers' : next}.`;
  }
}

function stateOfCompleted({ capturedAmount, reversedAmount }: MoneyFacts): MoneyState {
  if (reversedAmount === 0n) return 'yes';
  if (reversedAmount === capturedAmount) return 'moved_back';
  return 'partly_moved_back';
}

function completedSentence(facts: MoneyFacts): string {
  const { amount, capturedAmount, reversedAmount, currency } = facts;
  const { source, destination } = endsInWords(facts);
  const money = (value: bigint): string => formatMoney(value, currency);
  const released =
    capturedAmount < amount
      ? `, of ${money(amount)} that were held; the other ${money(amount - capturedAmount)} was released`
      : '';
  const moved = `${money(capturedAmount)} moved from ${source} to ${destination} at ${momentOf(facts.completedAt)}${released}`;
  if (reversedAmount === 0n) return `${moved}.`;
  if (reversedAmount === capturedAmount) return `${moved}, and all ${money(capturedAmount)} has been reversed.`;
  const left = money(capturedAmount - reversedAmount);
  return `${moved}, and ${money(reversedAmount)} has been reversed, which leaves ${left}.`;
}

function failedSentence({ scheduledFor, errorCode }: MoneyFacts): string {
  const when = scheduledFor === null ? '' : ` when it was due at ${momentOf(scheduledFor)}`;
  const why = errorCode === null ? '' : `: ${errorCode.replaceAll('_', ' ')}`;
  const isFault = errorCode === 'processor_error' || errorCode === 'processor_unavailable';
  return `No money moved: the transfer ${isFault ? 'failed' : 'was declined'}${when}${why}.`;
}

/** The money that a processor moved although the transfer had already failed. */
function movedLate(facts: MoneyFacts): MoneySummary | undefined {
  const { connectorId, lateApprovalAt = null, breakId = null, lateApprovalSettledAt = null } = facts.attempt ?? {};
  if (lateApprovalAt === null || breakId === null) return undefined;
  const { source, destination } = endsInWords(facts);
  const moved = `${amountOf(facts)} moved from ${source} to ${destination} after all`;
  const known = `the processor '${connectorId}' said so at ${momentOf(lateApprovalAt)}, after the transfer had failed`;
  const which = `(break ${toWireId('brk', breakId)})`;
  if (facts.attempt && !isMovedLate(facts.attempt)) {
    const undone = `An operator of the service has booked that the processor undid it ${which}`;
    return { moved: 'no', sentence: `${moved}: ${known}. ${undone}, so no money moved in the end.` };
  }
  const next =
    lateApprovalSettledAt === null
      ? `An operator of the service will settle this ${which}.`
      : `An operator of the service settled that at ${momentOf(lateApprovalSettledAt)} ${which}.`;
  return { moved: 'moved_late', sentence: `${moved}: ${known}. ${next} Do not send the transfer again.` };
}

function expiredSentence(facts: MoneyFacts): string {
  const end = momentOf(facts.expiresAt);
  // A scheduled transfer that was still waiting at its expires_at never held anything, but the stored record does not show
  // whether that happened here.
  if (facts.scheduledFor !== null) return `No money moved: the transfer expired at ${end}, and nothing is held.`;
  return `No money moved: the hold of ${amountOf(facts)} expired at ${end} and was released.`;
}

/**
 * Returns the last clause of the sentence about a canceled transfer: what happened to its hold. A transfer that was canceled
 * before it was due had none.
 */
function whatWasHeld(facts: MoneyFacts): string {
  if (facts.scheduledFor !== null && facts.updatedAt < facts.scheduledFor) return ' before it was due';
  if (facts.capture === 'automatic') return '';
  if (facts.scheduledFor === null) return `, and the hold of ${amountOf(facts)} was released`;
  return ', and nothing is held';
}

function amountOf({ amount, currency }: MoneyFacts): string {
  return formatMoney(amount, currency);
}

function momentOf(time: number | null): string {
  return time === null ? 'an unknown time' : new Date(time).toISOString();
}
