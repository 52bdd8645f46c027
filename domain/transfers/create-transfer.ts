import type { Card } from '../cards/card.ts';
import type { EventType } from '../event.ts';
import { type Account, type Ends, type Posting, placeHold, post } from '../ledger/ledger.ts';
import type { CounterChange } from '../ledger/limits.ts';
import { type Attempt, kindOf } from '../processors/attempt.ts';
import type { Failure } from '../processors/next-step.ts';
import type { Refusal } from '../refusal.ts';
import { limitedSides } from './limit-checks.ts';
import {
  DEFAULT_HOLD_MILLISECONDS,
  type Hold,
  newTransfer,
  type Transfer,
  type TransferCreation,
  type TransferNotes,
  type TransferTerms,
} from './transfer.ts';
import { TRANSFER_CHECKS } from './transfer-checks.ts';
import { endsOf, type TransferView } from './transfer-view.ts';

/** The result of a decision about a transfer: everything that changes, in its new state. */
export type TransferPlan = {
  readonly transfer: Transfer;
  readonly event: EventType;
  readonly postings: readonly Posting[];
  readonly accounts: readonly Account[];
  /** The new hold of the transfer, or null if it has none. */
  readonly hold: Hold | null;
  readonly counts: readonly CounterChange[];
  /** Why an accepted transfer failed. Its record becomes the transfer's `error`. */
  readonly failure?: Failure;
  /** The connector to the processor that must move the money, and the direction. Omitted if no processor is involved. */
  readonly attempt?: Pick<Attempt, 'connectorId' | 'kind'>;
};

/** A requested transfer: its ids and time, its terms, and the caller's notes. */
export type TransferInput = {
  readonly creation: TransferCreation;
  readonly terms: TransferTerms;
  readonly notes: TransferNotes;
};

/**
 * Decides on a new transfer and its changes, or returns the first refusal. A scheduled transfer does not move or hold money yet,
 * so current balances and usage do not matter.
 */
export function decideTransfer(request: TransferInput, view: TransferView): TransferPlan | Refusal {
  const { creation, notes } = request;
  const terms = withHoldEnd(request.terms, creation.now);
  const isScheduled = terms.scheduledFor !== null;
  for (const check of TRANSFER_CHECKS) {
    if (isScheduled && check.whenDue === true) continue;
    const finding = check.examine(terms, view);
    if (finding.outcome === 'failed') return finding.refusal;
  }
  const { card, destinationCard } = view;
  const ends = endsOf(terms, view);
  if (ends === undefined || card === undefined) throw new Error('the checks let through a transfer without a card');
  const transfer = newTransfer(creation, terms, notes, { card, destinationCard });
  if (isScheduled) {
    return { transfer, event: 'transfer.scheduled', postings: [], accounts: [], hold: null, counts: [] };
  }
  return begin(transfer, { card, ends }, countsOf(transfer, { card, destinationCard }, view));
}

/** A manual capture holds the money for seven days unless the caller sets a different period. */
function withHoldEnd(terms: TransferTerms, now: number): TransferTerms {
  if (terms.capture === 'automatic' || terms.expiresAt !== null) return terms;
  return { ...terms, expiresAt: (terms.scheduledFor ?? now) + DEFAULT_HOLD_MILLISECONDS };
}

/** Holds or moves the money of a transfer that has passed its checks. */
export function begin(
  transfer: Transfer,
  { card, ends }: { readonly card: Card; readonly ends: Ends },
  counts: readonly CounterChange[],
): TransferPlan {
  if (transfer.status === 'pending') return { ...hold(transfer, ends, counts), ...attemptOf(transfer, card) };
  const { posting, source, destination } = post({ index: 0, purpose: transfer.type, ...ends, amount: transfer.amount });
  return {
    transfer,
    event: 'transfer.completed',
    postings: [posting],
    accounts: [source, destination],
    hold: null,
    counts,
  };
}

/** The order to the card's processor. Only loads and unloads get here, because a check refuses the rest. */
function attemptOf(transfer: Transfer, { connectorId }: Card): Pick<TransferPlan, 'attempt'> {
  if (connectorId === null || transfer.type === 'card_to_card') return {};
  return { attempt: { connectorId, kind: kindOf(transfer.type) } };
}

function hold(transfer: Transfer, ends: Ends, counts: readonly CounterChange[]): TransferPlan {
  const { source, destination } = placeHold(ends, transfer.amount);
  const [first] = counts;
  if (first === undefined) throw new Error('a hold needs a day on which it counts');
  if (transfer.capture === 'manual' && transfer.expiresAt === null)
    throw new Error('a hold for a caller needs expires_at');
  return {
    transfer,
    event: 'transfer.pending',
    postings: [],
    accounts: [source, destination],
    hold: {
      programId: transfer.programId,
      transferId: transfer.transferId,
      sourceAccountId: source.accountId,
      destinationAccountId: destination.accountId,
      amount: transfer.amount,
      expiresAt: transfer.expiresAt,
      dayStart: first.dayStart,
    },
    counts,
  };
}

/** The usage that a transfer adds to the counters of its cards and its program today. */
export function countsOf(
  transfer: Pick<Transfer, 'type' | 'amount'>,
  cards: { readonly card: Card; readonly destinationCard: Card | undefined },
  view: Pick<TransferView, 'rules'>,
): readonly CounterChange[] {
  const dayStart = view.rules.calendar.day.start;
  return limitedSides(transfer.type, cards.card, cards.destinationCard, view.rules).map(({ accountId, direction }) => ({
    accountId,
    direction,
    dayStart,
    amount: transfer.amount,
    count: 1n,
  }));
}
