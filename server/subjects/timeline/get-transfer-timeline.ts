import { fromWireId } from '../../../domain/identifier.ts';
import { moneySentence } from '../../../domain/transfers/money-sentence.ts';
import type { Transfer } from '../../../domain/transfers/transfer.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { transferMissing } from '../../calls/missing.ts';
import { confirmReplicated, readRows } from '../../calls/read-rows.ts';
import { toTransferRecord } from '../../calls/records/transfer.ts';
import type { Service } from '../../calls/service.ts';
import { readTransfer, toTransfer } from '../../store/transfers/transfer.ts';
import { readFacts } from './read-facts.ts';
import { stepsOf, truncationsOf } from './steps.ts';

/**
 * get_transfer_timeline: the transfer, whether its money moved, what happened to it in order, and its likely duplicates; or
 * `transfer_not_found`. Later changes than those of the transfer as it was first read are left out.
 */
export async function getTransferTimeline(
  service: Service,
  call: Call<'get_transfer_timeline'>,
): Promise<Reply<'get_transfer_timeline'>> {
  const { transfer_id: sentId } = call.params;
  const transferId = fromWireId('tr', sentId);
  const rows =
    transferId === undefined ? [] : await readRows(service.database, readTransfer(call.programId, transferId));
  await confirmReplicated(service.database, call.deadline, rows);
  const [row] = rows;
  if (row === undefined) throw transferMissing(sentId);
  const facts = await readFacts(service.database, call, toTransfer(row));
  const attempt = facts.processorAttempts.at(-1) ?? null;
  const record = {
    transfer: toTransferRecord(facts.transfer),
    money: moneySentence({ ...facts.transfer, errorCode: errorCodeOf(facts.transfer), attempt }, facts.now),
    steps: stepsOf(facts),
    likely_duplicates: facts.duplicates.map(toTransferRecord),
    truncated: truncationsOf(facts),
  };
  return { record };
}

/** The error code of a failed transfer, under its current name. */
function errorCodeOf(transfer: Transfer): string | null {
  return toTransferRecord(transfer).error?.Code ?? null;
}
