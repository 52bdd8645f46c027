import { refuseTexts } from '../cards/card.ts';
import { toWireId } from '../identifier.ts';
import { post, releaseHold } from '../ledger/ledger.ts';
import type { CounterChange } from '../ledger/limits.ts';
import { formatMoney } from '../ledger/money.ts';
import { changeMetadata, type MetadataChange, refuseMetadata, sameMetadata } from '../metadata.ts';
import type { Step } from '../processors/next-step.ts';
import { Refusal } from '../refusal.ts';
import { begin, countsOf, type TransferPlan } from './create-transfer.ts';
import { examineReceivingAccount, limitedSides } from './limit-checks.ts';
import {
  allows,
  type Hold,
  statusAt,
  type Transfer,
  type TransferCommand,
  type TransferStatus,
  waitsForProcessor,
} from './transfer.ts';
import { examineState, examineSwitch, TRANSFER_CHECKS } from './transfer-checks.ts';
import { endsOf, type Finding, type TransferView } from './transfer-view.ts';

/** An existing transfer, and its hold while the hold is open. */
export type TransferWithHold = { readonly transfer: Transfer; readonly hold: Hold | undefined };

const RESULTS: Readonly<Record<TransferCommand, string>> = {
  create: 'created',
  execute: 'executed',
  capture: 'captured',
  cancel: 'canceled',
  expire: 'expired',
  report: 'ended by its processor',
  reverse: 'reversed',
};

/**
 * Refuses a command that the status of a transfer does not allow: `invalid_transfer_status`. If several requests end a hold at
 * the same time, all but the first get this refusal.
 */
export function refuseMove(transfer: Transfer, command: TransferCommand, now: number): Refusal | undefined {
  const status = statusAt(transfer, now);
  if (allows(status, command)) return undefined;
  const saw = { status, command, expires_at: momentOf(transfer.expiresAt) };
  const message =
    `The transfer ${toWireId('tr', transfer.transferId)} ${statusAndTime(transfer, status)} and cannot be ` +
    `${RESULTS[command]}. ${allowedOf(command)}`;
  return new Refusal('invalid_transfer_status', message, { saw });
}

/** Refuses to end a transfer that a processor may be carrying out. Only the processor's answer ends it. */
function refuseWaiting(transfer: Transfer, command: TransferCommand): Refusal | undefined {
  if (!waitsForProcessor(transfer)) return undefined;
  const message =
    `The transfer ${toWireId('tr', transfer.transferId)} is waiting for its card's processor and cannot be ` +
    `${RESULTS[command]}: it ends when the outcome at the processor is known.`;
  const saw = { status: transfer.status, outcome: transfer.outcome, command };
  return new Refusal('invalid_transfer_status', message, { saw });
}

/** The status and, if known, when it began. `updatedAt` can be later, because a change of the metadata also sets it. */
function statusAndTime(transfer: Transfer, status: TransferStatus): string {
  const time = status === 'expired' ? transfer.expiresAt : transfer.completedAt;
  return time === null ? `is ${status}` : `has been ${status} since ${momentOf(time)}`;
}

function allowedOf(command: TransferCommand): string {
  const from = (['scheduled', 'pending', 'completed'] as const).filter((status) => allows(status, command));
  return `Its status must be ${from.join(' or ')}.`;
}

function momentOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/**
 * Captures a hold, in full (`amount` null) or in part. The rest is released and given back to the limits of the day it was
 * counted on. The status of the cards and the maximum balance are checked again, since they may have changed.
 */
export function decideCapture(
  existing: TransferWithHold,
  amount: bigint | null,
  view: TransferView,
): TransferPlan | Refusal {
  const { transfer, hold } = existing;
  const refusal = refuseMove(transfer, 'capture', view.now) ?? refuseWaiting(transfer, 'capture');
  if (refusal !== undefined) return refusal;
  if (hold === undefined) throw new Error('a pending transfer has no hold');
  const captured = amount ?? transfer.amount;
  if (captured > transfer.amount) return refuseTooMuch(transfer, captured);
  const state = refuseStates(transfer, view);
  if (state !== undefined) return state;
  const freed = releaseHold(endsFor(transfer, view), hold.amount);
  const finding = examineReceivingAccount(freed.destination, receiverOf(transfer, view), captured, view);
  if (finding.outcome === 'failed') return finding.refusal;
  const { posting, source, destination } = post({ index: 0, purpose: transfer.type, ...freed, amount: captured });
  const released = transfer.amount - captured;
  return {
    transfer: ended(transfer, 'completed', view.now, { capturedAmount: captured, completedAt: view.now }),
    event: 'transfer.completed',
    postings: [posting],
    accounts: [source, destination],
    hold: null,
    counts: released === 0n ? [] : giveBack(transfer, hold, released, 0n, view),
  };
}

function refuseTooMuch(transfer: Transfer, requested: bigint): Refusal {
  const { amount, currency } = transfer;
  const saw = { held: amount, amount: requested };
  const message =
    `The capture is for ${formatMoney(requested, currency)}, but the transfer holds ${formatMoney(amount, currency)}. ` +
    'Send that amount or less, or omit the amount to capture all of it.';
  return new Refusal('amount_too_large', message, { field: '/amount', saw });
}

/** The refusal for a card whose status no longer allows the transfer. */
function refuseStates(transfer: Transfer, view: TransferView): Refusal | undefined {
  const findings = [
    examineState(view.card, transfer.type === 'load' ? 'in' : 'out', '', view),
    examineState(view.destinationCard, 'in', '', view),
  ];
  for (const finding of findings) if (finding.outcome === 'failed') return finding.refusal;
  return undefined;
}

/** Cancels a scheduled or pending transfer: releases its hold and reduces the usage of its limits. */
export function decideCancel(existing: TransferWithHold, view: TransferView): TransferPlan | Refusal {
  const { transfer } = existing;
  const refusal = refuseMove(transfer, 'cancel', view.now) ?? refuseWaiting(transfer, 'cancel');
  if (refusal !== undefined) return refusal;
  return transfer.status === 'pending'
    ? release(existing, 'canceled', view)
    : endUnheld(transfer, 'canceled', view.now);
}

/**
 * Changes the metadata of a transfer in any status. Other fields cannot be updated. Undefined if nothing changes. Refused if the
 * holder of one of its cards was erased (`erasedCard`, the card's wire id).
 */
export function decideUpdate(
  { transfer, hold }: TransferWithHold,
  change: MetadataChange | null,
  erasedCard: string | undefined,
  now: number,
): TransferPlan | Refusal | undefined {
  if (erasedCard !== undefined) return refuseTexts(erasedCard);
  const metadata = changeMetadata(transfer.metadata, change);
  const refusal = refuseMetadata('update_transfer', metadata);
  if (refusal !== undefined) return refusal;
  if (sameMetadata(metadata, transfer.metadata)) return undefined;
  return {
    transfer: { ...transfer, metadata, updatedAt: now },
    event: 'transfer.updated',
    postings: [],
    accounts: [],
    hold: hold ?? null,
    counts: [],
  };
}

/** Ends a transfer that has no hold and no usage of limits. Only its record changes. */
function endUnheld(transfer: Transfer, to: 'canceled' | 'expired', now: number): TransferPlan {
  const event = to === 'canceled' ? 'transfer.canceled' : 'transfer.expired';
  return { transfer: ended(transfer, to, now), event, postings: [], accounts: [], hold: null, counts: [] };
}

/** Records that a hold has expired and releases it. Refused if it has not expired or is no longer pending. */
export function decideExpiry(existing: TransferWithHold, view: TransferView): TransferPlan | Refusal {
  const { transfer } = existing;
  const isOver = transfer.status === 'pending' && statusAt(transfer, view.now) === 'expired';
  if (isOver) return release(existing, 'expired', view);
  const message = `The transfer ${toWireId('tr', transfer.transferId)} has not expired or is no longer pending.`;
  return new Refusal('invalid_transfer_status', message);
}

const RELEASED = { canceled: 'transfer.canceled', expired: 'transfer.expired', failed: 'transfer.failed' } as const;

function release({ transfer, hold }: TransferWithHold, to: keyof typeof RELEASED, view: TransferView): TransferPlan {
  if (hold === undefined) throw new Error('a pending transfer has no hold');
  const { source, destination } = releaseHold(endsFor(transfer, view), hold.amount);
  return {
    transfer: ended(transfer, to, view.now),
    event: RELEASED[to],
    postings: [],
    accounts: [source, destination],
    hold: null,
    counts: giveBack(transfer, hold, hold.amount, 1n, view),
  };
}

/**
 * Executes a scheduled transfer that is due. Every check that depends on the current state runs now. If one refuses, the transfer
 * fails, and the refusal is stored as its error. A disabled service is not a failure: the transfer waits (`Refusal`). A transfer
 * that has waited past its `expiresAt` expires without ever holding money.
 */
export function decideExecution(transfer: Transfer, view: TransferView): TransferPlan | Refusal {
  const refusal = refuseMove(transfer, 'execute', view.now);
  if (refusal !== undefined) return refusal;
  if (transfer.scheduledFor === null || transfer.scheduledFor > view.now) {
    return new Refusal('invalid_transfer_status', 'The transfer is not due yet.');
  }
  // The hold would already be over: it would block the money, and could never be captured.
  if (transfer.expiresAt !== null && transfer.expiresAt <= view.now) return endUnheld(transfer, 'expired', view.now);
  const { type, amount, cardName, destinationCardName, currency, capture, expiresAt } = transfer;
  const terms = { type, amount, cardName, destinationCardName, currency, capture, expiresAt };
  for (const check of TRANSFER_CHECKS) {
    if (check.onlyWhenMade === true) continue;
    const finding = check.examine({ ...terms, reference: null, scheduledFor: null }, view);
    if (finding.outcome !== 'failed') continue;
    return waitsFor(finding) ? finding.refusal : fail(transfer, finding.refusal, view.now);
  }
  const { card, destinationCard } = view;
  if (card === undefined) throw new Error('the checks let through a transfer without a card');
  const begun: Transfer =
    capture === 'manual' || card.connectorId !== null
      ? { ...transfer, status: 'pending', updatedAt: view.now }
      : ended(transfer, 'completed', view.now, { capturedAmount: amount, completedAt: view.now });
  return begin(begun, { card, ends: endsFor(transfer, view) }, countsOf(transfer, { card, destinationCard }, view));
}

/**
 * Whether a scheduled transfer that is due must wait because its scope is disabled, or because this process cannot reach its processor.
 * It also waits for a connector that is missing from the settings: the settings may name it again, and other processes may have it.
 */
function waitsFor({ refusal }: Extract<Finding, { outcome: 'failed' }>): boolean {
  return refusal.code === 'service_disabled' || refusal.code === 'processor_unavailable';
}

/**
 * Records the processor's answer about a transfer. An approval has already happened at the processor, so the status of the card
 * and the limits are not checked again. Undefined if the transfer stays unchanged. Refused if the transfer no longer waits,
 * because another request came first.
 */
export function decideReport(
  { transfer, hold }: TransferWithHold,
  { effect, failure }: Pick<Step, 'effect' | 'failure'>,
  view: TransferView,
): TransferPlan | Refusal | undefined {
  if (!waitsForProcessor(transfer)) {
    const message = `The transfer ${toWireId('tr', transfer.transferId)} does not wait for a processor.`;
    return new Refusal('invalid_transfer_status', message);
  }
  if (hold === undefined) throw new Error('a pending transfer has no hold');
  switch (effect) {
    case null:
      return undefined;
    case 'complete': {
      const freed = releaseHold(endsFor(transfer, view), hold.amount);
      const { posting, source, destination } = post({
        index: 0,
        purpose: transfer.type,
        ...freed,
        amount: hold.amount,
      });
      const facts = { capturedAmount: hold.amount, completedAt: view.now };
      return {
        transfer: ended(transfer, 'completed', view.now, facts),
        event: 'transfer.completed',
        postings: [posting],
        accounts: [source, destination],
        hold: null,
        counts: [],
      };
    }
    case 'fail': {
      if (failure === null) throw new Error('a processor failed without a reason');
      return { ...release({ transfer, hold }, 'failed', view), failure };
    }
    case 'unknown':
    case 'open':
      return {
        transfer: { ...transfer, outcome: effect, updatedAt: view.now },
        event: effect === 'unknown' ? 'transfer.unknown' : 'transfer.pending',
        postings: [],
        accounts: [],
        hold,
        counts: [],
      };
  }
}

function fail(transfer: Transfer, refusal: Refusal, now: number): TransferPlan {
  return {
    transfer: ended(transfer, 'failed', now),
    event: 'transfer.failed',
    postings: [],
    accounts: [],
    hold: null,
    counts: [],
    failure: refusal,
  };
}

/**
 * Refuses a change of a transfer while the service is disabled for it. Without a transfer, refuses while the service is disabled
 * for all types. A disabled connector does not matter, because changes of an existing transfer send no order to a processor.
 */
export function refuseDisabled(transfer: Transfer | undefined, view: TransferView): Refusal | undefined {
  const finding = examineSwitch({ type: transfer?.type ?? null, connectorId: null }, view);
  return finding.outcome === 'failed' ? finding.refusal : undefined;
}

function ended(
  transfer: Transfer,
  status: TransferStatus,
  now: number,
  facts: Partial<Pick<Transfer, 'capturedAmount' | 'completedAt'>> = {},
): Transfer {
  return { ...transfer, ...facts, status, outcome: 'final', updatedAt: now };
}

function endsFor(transfer: Transfer, view: TransferView) {
  const ends = endsOf(transfer, view);
  if (ends === undefined) throw new Error('a card of a transfer is missing');
  return ends;
}

function receiverOf(transfer: Transfer, view: TransferView) {
  if (transfer.type === 'unload') return undefined;
  return transfer.type === 'load' ? view.card : view.destinationCard;
}

/** Subtracts the usage of a hold from the counters of the day it was counted on. */
function giveBack(
  transfer: Transfer,
  hold: Hold,
  amount: bigint,
  count: bigint,
  { card, destinationCard, rules }: TransferView,
): readonly CounterChange[] {
  if (card === undefined) throw new Error('a card of a transfer is missing');
  return limitedSides(transfer.type, card, destinationCard, rules).map(({ accountId, direction }) => ({
    accountId,
    direction,
    dayStart: hold.dayStart,
    amount: -amount,
    count: -count,
  }));
}
