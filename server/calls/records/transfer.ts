import { errorRecord } from '../../../contract/errors/catalogue.ts';
import type { ErrorRecord } from '../../../contract/errors/record.ts';
import type { ReversalRecord } from '../../../contract/transfer-actions.ts';
import type { TransferRecord } from '../../../contract/transfers.ts';
import { toCredentialId, toWireId } from '../../../domain/identifier.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { TransferPlan } from '../../../domain/transfers/create-transfer.ts';
import type { Reversal } from '../../../domain/transfers/reverse-transfer.ts';
import { NO_API_KEY, type Transfer } from '../../../domain/transfers/transfer.ts';
import { type Caller, credentialOf } from '../call.ts';

export function toTransferRecord(transfer: Transfer): TransferRecord {
  return {
    transfer_id: toWireId('tr', transfer.transferId),
    program_id: toWireId('prog', transfer.programId),
    card_id: transfer.cardName,
    destination_card_id: transfer.destinationCardName,
    type: transfer.type,
    amount: toWire(transfer.amount),
    captured_amount: toWire(transfer.capturedAmount),
    reversed_amount: toWire(transfer.reversedAmount),
    currency: transfer.currency,
    status: transfer.status,
    outcome: transfer.outcome,
    capture: transfer.capture,
    expires_at: toMoment(transfer.expiresAt),
    scheduled_for: toMoment(transfer.scheduledFor),
    description: transfer.description,
    reference: transfer.reference,
    metadata: { ...transfer.metadata },
    request_id: toWireId('req', transfer.requestId),
    idempotency_key: transfer.idempotencyKey,
    created_by: toCreator(transfer.createdBy),
    error: toErrorRecord(transfer.error),
    created_at: formatTime(transfer.createdAt),
    updated_at: formatTime(transfer.updatedAt),
    completed_at: toMoment(transfer.completedAt),
  };
}

/** Returns the creator of a transfer or a reversal, in the form that the audit log uses for callers. */
function toCreator(createdBy: string | null): string | null {
  if (createdBy === null) return null;
  return createdBy === NO_API_KEY ? 'sandbox' : toCredentialId(createdBy);
}

/**
 * Returns the error of a failed transfer with its fields in the specified order (specification, 2.1), because `jsonb` does not keep
 * the order.
 */
function toErrorRecord(error: object | null): ErrorRecord | null {
  if (error === null) return null;
  const { Message, Status, Code, Type } = error as ErrorRecord;
  return { Message, Status, Code, Type };
}

export function toReversalRecord(reversal: Reversal): ReversalRecord {
  return {
    reversal_id: toWireId('rev', reversal.reversalId),
    transfer_id: toWireId('tr', reversal.transferId),
    program_id: toWireId('prog', reversal.programId),
    amount: toWire(reversal.amount),
    currency: reversal.currency,
    status: 'completed',
    description: reversal.description,
    created_by: toCreator(reversal.createdBy),
    created_at: formatTime(reversal.createdAt),
  };
}

function toMoment(time: number | null): string | null {
  return time === null ? null : formatTime(time);
}

let lastTime = 0;
let lastTimeText = new Date(lastTime).toISOString();

/**
 * Formats the time of a record. The transfers of a group usually have the same time, so the formatted time is kept for the next
 * one.
 */
function formatTime(time: number): string {
  if (time !== lastTime) {
    lastTimeText = new Date(time).toISOString();
    lastTime = time;
  }
  return lastTimeText;
}

/** Returns the creator to store with a transfer: the inner UUID of the API key or the person. */
export function creatorOf(caller: Caller): string {
  return credentialOf(caller) ?? NO_API_KEY;
}

/** Returns the plan. If its transfer was accepted but failed, adds the error record to the transfer. */
export function withErrorRecord<Plan extends TransferPlan | Refusal | undefined>(plan: Plan): Plan | TransferPlan {
  if (plan === undefined || plan instanceof Refusal || plan.failure === undefined) return plan;
  const { code, message } = plan.failure;
  return { ...plan, transfer: { ...plan.transfer, error: errorRecord(code, message) } };
}
