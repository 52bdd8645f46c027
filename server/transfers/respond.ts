import type { ErrorRecord } from '../../contract/errors/record.ts';
import type { ReversalRecord } from '../../contract/transfer-actions.ts';
import type { TransferRecord } from '../../contract/transfers.ts';
import { toWireId } from '../../domain/identifier.ts';
import { toWire } from '../../domain/ledger/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Reversal } from '../../domain/transfers/reverse-transfer.ts';
import { NO_API_KEY, type Transfer } from '../../domain/transfers/transfer.ts';
import { readRows } from '../commit/transaction.ts';
import type { CallContext, JsonReply, RecordReply } from '../operations/call.ts';
import type { Database } from '../store/connection/database.ts';
import { currentCode } from '../store/renamed-codes.ts';
import { readReversal, toReversal } from '../store/transfers/reversal.ts';
import { readTransfer, toTransfer } from '../store/transfers/transfer.ts';

/** The result of a request in a group: a new record with its JSON text, a replay, or a refusal. */
export type Outcome = Decided | Replay | Refusal;

type Decided = Required<RecordReply<TransferRecord | ReversalRecord>>;

/** The first response to an idempotency key; `json` is null where its text is no longer stored. */
export type Replay = {
  /** Inner UUID of the transfer or reversal. */
  readonly subjectId: string;
  readonly json: string | null;
  /** Id on the wire of the first request; undefined where an earlier version stored its response. */
  readonly originalRequestId: string | undefined;
};

/** The reply with a transfer; throws the refusal. Without the stored text, a replay shows the transfer as it is now. */
export function toTransferReply(
  { database }: { readonly database: Database },
  { programId }: CallContext,
  outcome: Outcome,
): JsonReply<TransferRecord> | Promise<JsonReply<TransferRecord>> {
  return toReply(outcome, isTransfer, async (transferId) => {
    const [row] = await readRows(database, readTransfer(programId, transferId));
    return row === undefined ? undefined : toTransferRecord(toTransfer(row));
  });
}

/** The same for the reply with a reversal. */
export function toReversalReply(
  { database }: { readonly database: Database },
  { programId }: CallContext,
  outcome: Outcome,
): JsonReply<ReversalRecord> | Promise<JsonReply<ReversalRecord>> {
  return toReply(outcome, isReversal, async (reversalId) => {
    const [row] = await readRows(database, readReversal(programId, reversalId));
    return row === undefined ? undefined : toReversalRecord(toReversal(row));
  });
}

const isReversal = (record: TransferRecord | ReversalRecord): record is ReversalRecord => 'reversal_id' in record;
const isTransfer = (record: TransferRecord | ReversalRecord): record is TransferRecord => !isReversal(record);

function toReply<Wanted extends TransferRecord | ReversalRecord>(
  outcome: Outcome,
  isWanted: (record: TransferRecord | ReversalRecord) => record is Wanted,
  readNow: (subjectId: string) => Promise<Wanted | undefined>,
): JsonReply<Wanted> | Promise<JsonReply<Wanted>> {
  if (outcome instanceof Refusal) throw outcome;
  if ('subjectId' in outcome) {
    const { json, subjectId, originalRequestId } = outcome;
    if (json !== null) return { json, replayed: true, originalRequestId };
    return readNow(subjectId).then((record) => {
      if (record === undefined) throw new Error('what a stored response created does not exist');
      return { json: JSON.stringify(record), replayed: true, originalRequestId };
    });
  }
  const { record, json } = outcome;
  if (!isWanted(record)) throw new Error('another kind of record was decided than was requested');
  return { record, json };
}

/** A transfer as the contract shows it. */
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

/** Who created a transfer, by the names that the audit log has for callers. */
function toCreator(createdBy: string | null): string | null {
  if (createdBy === null) return null;
  return createdBy === NO_API_KEY ? 'sandbox' : toWireId('key', createdBy);
}

/**
 * The error of a failed transfer with its fields in their order, which `jsonb` does not keep (specification, 2.1). An
 * earlier version that is still running may store an old code.
 */
function toErrorRecord(error: object | null): ErrorRecord | null {
  if (error === null) return null;
  const { Message, Status, Code, Type } = error as ErrorRecord;
  return { Message, Status, Code: currentCode(Code), Type };
}

/** A reversal as the contract shows it. */
export function toReversalRecord(reversal: Reversal): ReversalRecord {
  return {
    reversal_id: toWireId('rev', reversal.reversalId),
    transfer_id: toWireId('tr', reversal.transferId),
    program_id: toWireId('prog', reversal.programId),
    amount: toWire(reversal.amount),
    currency: reversal.currency,
    status: 'completed',
    description: reversal.description,
    created_at: formatTime(reversal.createdAt),
  };
}

function toMoment(time: number | null): string | null {
  return time === null ? null : formatTime(time);
}

let lastTime = 0;
let lastTimeText = new Date(lastTime).toISOString();

/** The time of a record. All transfers of a group have the time of their decision, which is formatted once. */
function formatTime(time: number): string {
  if (time !== lastTime) {
    lastTimeText = new Date(time).toISOString();
    lastTime = time;
  }
  return lastTimeText;
}
