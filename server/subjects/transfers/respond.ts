import type { ReversalRecord } from '../../../contract/transfer-actions.ts';
import type { TransferRecord } from '../../../contract/transfers.ts';
import { type Fingerprint, originalOf, replay, type StoredResponse } from '../../../domain/idempotency.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { type Attempt, isContradicted, isMovedLate, movedInBooks } from '../../../domain/processors/attempt.ts';
import { type MoneyMoved, Refusal } from '../../../domain/refusal.ts';
import { dependsOnProcessor } from '../../../domain/transfers/transfer.ts';
import type { CallContext, JsonReply, Moved, RecordReply } from '../../calls/call.ts';
import { readAgain } from '../../calls/read-rows.ts';
import { toReversalRecord, toTransferRecord } from '../../calls/records/transfer.ts';
import { storedRefusal } from '../../commit/under-key.ts';
import type { Database } from '../../store/connection/database.ts';
import { readLastAttempts, toAttempt } from '../../store/processors/attempt.ts';
import { readReversal, readTransfer, toReversal, toTransfer } from '../../store/transfers/transfer.ts';

export type Outcome = Decided | Replay | Refusal;

type Decided = Required<RecordReply<TransferRecord | ReversalRecord>>;

/** The first response to an idempotency key. `json` is null if its text is no longer stored. */
export type Replay = {
  /** Inner UUID of the transfer or reversal. */
  readonly subjectId: string;
  readonly json: string | null;
  /** Wire id of the first request, or undefined if an earlier version stored its response. */
  readonly originalRequestId: string | undefined;
};

export function replayOf(stored: StoredResponse, fingerprint: Fingerprint): Outcome {
  const first = replay(stored, fingerprint);
  if (first instanceof Refusal) return first;
  const refusal = storedRefusal(first);
  if (refusal !== undefined) return refusal;
  if (first.subjectId === null) throw new Error('a stored success has no subject');
  return { subjectId: first.subjectId, json: first.body, originalRequestId: originalOf(first) };
}

type MoneyReply<Record> = JsonReply<Record> & Moved;

/**
 * Returns the reply with a transfer. Throws the refusal. If the stored JSON is gone, a replay shows the current transfer.
 * `moneyMoved` describes the request, so a replay has the same value as the first response. It can be a function that derives the
 * value from the shown record ({@link movedBy}).
 */
export function toTransferReply(
  { database }: { readonly database: Database },
  { programId }: CallContext,
  outcome: Outcome,
  moneyMoved: MoneyMoved | typeof movedBy,
): MoneyReply<TransferRecord> | Promise<MoneyReply<TransferRecord>> {
  const known = typeof moneyMoved === 'string' ? moneyMoved : undefined;
  const moved = typeof moneyMoved === 'string' ? () => moneyMoved : moneyMoved;
  return toReply(outcome, isTransfer, moved, async (transferId) => {
    const [row] = await readAgain(database, readTransfer(programId, transferId), known ?? 'unknown');
    if (row === undefined) return undefined;
    const transfer = toTransfer(row);
    const record = toTransferRecord(transfer);
    if (known !== undefined || !dependsOnProcessor(transfer)) return { record, attempt: undefined };
    const [last] = await readAgain(database, readLastAttempts([transfer]), 'unknown');
    return { record, attempt: last === undefined ? undefined : toAttempt(last) };
  });
}

/**
 * Returns whether the money of an immediate transfer has moved. This is unknown while the transfer waits for a processor, and while
 * the processor contradicts its outcome. If the processor did not carry the transfer out, the money did not move, unless the
 * processor carried it out after the transfer had failed.
 */
export function movedBy({ status }: Pick<TransferRecord, 'status'>, attempt?: Attempt): MoneyMoved {
  if (status === 'pending') return 'unknown';
  if (attempt !== undefined && isMovedLate(attempt)) return 'yes';
  if (attempt !== undefined && isContradicted(attempt)) return 'unknown';
  // An operator has booked that the processor moved no money.
  if (attempt !== undefined && attempt.status === 'approved' && movedInBooks(attempt) === 0n) return 'no';
  return status === 'failed' ? 'no' : 'yes';
}

/** Returns the reply with a reversal. The money of a reversal has always moved. */
export function toReversalReply(
  { database }: { readonly database: Database },
  { programId }: CallContext,
  outcome: Outcome,
): MoneyReply<ReversalRecord> | Promise<MoneyReply<ReversalRecord>> {
  return toReply(
    outcome,
    isReversal,
    () => 'yes',
    async (reversalId) => {
      const [row] = await readAgain(database, readReversal(programId, reversalId), 'yes');
      return row === undefined ? undefined : { record: toReversalRecord(toReversal(row)), attempt: undefined };
    },
  );
}

const isReversal = (record: TransferRecord | ReversalRecord): record is ReversalRecord => 'reversal_id' in record;
const isTransfer = (record: TransferRecord | ReversalRecord): record is TransferRecord => !isReversal(record);

function toReply<Wanted extends TransferRecord | ReversalRecord>(
  outcome: Outcome,
  isWanted: (record: TransferRecord | ReversalRecord) => record is Wanted,
  movedBy: (record: Wanted, attempt?: Attempt) => MoneyMoved,
  readNow: (
    subjectId: string,
  ) => Promise<{ readonly record: Wanted; readonly attempt: Attempt | undefined } | undefined>,
): MoneyReply<Wanted> | Promise<MoneyReply<Wanted>> {
  if (outcome instanceof Refusal) throw outcome;
  if ('subjectId' in outcome) {
    const { json, subjectId, originalRequestId } = outcome;
    if (json !== null)
      return { json, replayed: true, originalRequestId, moneyMoved: movedBy(parseJson(json) as Wanted) };
    return readNow(subjectId).then((found) => {
      if (found === undefined) throw new Error('the record of a stored response does not exist');
      const { record, attempt } = found;
      const moneyMoved = movedBy(record, attempt);
      return { json: JSON.stringify(record), replayed: true, originalRequestId, moneyMoved };
    });
  }
  const { record, json } = outcome;
  if (!isWanted(record)) throw new Error('the decision produced a different kind of record than the request asked for');
  return { record, json, moneyMoved: movedBy(record) };
}
