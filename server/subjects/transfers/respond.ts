import type { ReversalRecord } from '../../../contract/transfer-actions.ts';
import type { TransferRecord } from '../../../contract/transfers.ts';
import { type MoneyMoved, Refusal } from '../../../domain/refusal.ts';
import type { CallContext, JsonReply, Moved, RecordReply } from '../../calls/call.ts';
import { readAgain } from '../../calls/read-rows.ts';
import { toReversalRecord, toTransferRecord } from '../../calls/records/transfer.ts';
import type { Database } from '../../store/connection/database.ts';
import { readReversal, toReversal } from '../../store/transfers/reversal.ts';
import { readTransfer, toTransfer } from '../../store/transfers/transfer.ts';

/** The result of a request in a group: a new record with its JSON text, a replay, or a refusal. */
export type Outcome = Decided | Replay | Refusal;

type Decided = Required<RecordReply<TransferRecord | ReversalRecord>>;

/** The first response to an idempotency key; `json` is null if its text is no longer stored. */
export type Replay = {
  /** Inner UUID of the transfer or reversal. */
  readonly subjectId: string;
  readonly json: string | null;
  /** Id on the wire of the first request; undefined if an earlier version stored its response. */
  readonly originalRequestId: string | undefined;
};

type MoneyReply<Record> = JsonReply<Record> & Moved;

/**
 * The reply with a transfer; throws the refusal. If the text is no longer stored, a replay shows the transfer as it is now.
 * `moneyMoved` is that of the first response also in a replay, because it describes the same request.
 */
export function toTransferReply(
  { database }: { readonly database: Database },
  { programId }: CallContext,
  outcome: Outcome,
  moneyMoved: MoneyMoved,
): MoneyReply<TransferRecord> | Promise<MoneyReply<TransferRecord>> {
  return toReply(outcome, isTransfer, moneyMoved, async (transferId) => {
    const [row] = await readAgain(database, readTransfer(programId, transferId), moneyMoved);
    return row === undefined ? undefined : toTransferRecord(toTransfer(row));
  });
}

/** The same for the reply with a reversal, whose money has always moved. */
export function toReversalReply(
  { database }: { readonly database: Database },
  { programId }: CallContext,
  outcome: Outcome,
): MoneyReply<ReversalRecord> | Promise<MoneyReply<ReversalRecord>> {
  return toReply(outcome, isReversal, 'yes', async (reversalId) => {
    const [row] = await readAgain(database, readReversal(programId, reversalId), 'yes');
    return row === undefined ? undefined : toReversalRecord(toReversal(row));
  });
}

const isReversal = (record: TransferRecord | ReversalRecord): record is ReversalRecord => 'reversal_id' in record;
const isTransfer = (record: TransferRecord | ReversalRecord): record is TransferRecord => !isReversal(record);

function toReply<Wanted extends TransferRecord | ReversalRecord>(
  outcome: Outcome,
  isWanted: (record: TransferRecord | ReversalRecord) => record is Wanted,
  moneyMoved: MoneyMoved,
  readNow: (subjectId: string) => Promise<Wanted | undefined>,
): MoneyReply<Wanted> | Promise<MoneyReply<Wanted>> {
  if (outcome instanceof Refusal) throw outcome;
  if ('subjectId' in outcome) {
    const { json, subjectId, originalRequestId } = outcome;
    if (json !== null) return { json, replayed: true, originalRequestId, moneyMoved };
    return readNow(subjectId).then((record) => {
      if (record === undefined) throw new Error('what a stored response created does not exist');
      return { json: JSON.stringify(record), replayed: true, originalRequestId, moneyMoved };
    });
  }
  const { record, json } = outcome;
  if (!isWanted(record)) throw new Error('another kind of record was decided than was requested');
  return { record, json, moneyMoved };
}
