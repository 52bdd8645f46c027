import { fromWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { transferMissing } from '../../calls/missing.ts';
import { readCursor, readPage } from '../../calls/page.ts';
import { confirmReplicated, readRows } from '../../calls/read-rows.ts';
import { toReversalRecord } from '../../calls/records/transfer.ts';
import type { Service } from '../../calls/service.ts';
import { listReversals as listStatement, readReversal, toReversal } from '../../store/transfers/reversal.ts';
import { readTransfer } from '../../store/transfers/transfer.ts';

/** get_reversal: the reversal, or `reversal_not_found`. */
export async function getReversal(service: Service, call: Call<'get_reversal'>): Promise<Reply<'get_reversal'>> {
  const { reversal_id: sentId } = call.params;
  const reversalId = fromWireId('rev', sentId);
  const rows =
    reversalId === undefined ? [] : await readRows(service.database, readReversal(call.programId, reversalId));
  await confirmReplicated(service.database, call.deadline, rows);
  const [row] = rows;
  if (row !== undefined) return { record: toReversalRecord(toReversal(row)) };
  const hint = reversalId === undefined ? ' A reversal id is rev_ and 32 hex digits.' : '';
  throw new Refusal('reversal_not_found', `There is no reversal '${sentId}' in this card program.${hint}`);
}

/** list_reversals: a page of a transfer's reversals, newest first, or `transfer_not_found`. */
export async function listReversals(service: Service, call: Call<'list_reversals'>): Promise<Reply<'list_reversals'>> {
  const { programId } = call;
  // The whole request is validated before the transfer is looked up.
  readCursor(call, 'rev', call.query.cursor);
  const { transfer_id: sentId } = call.params;
  const transferId = fromWireId('tr', sentId);
  const found = transferId === undefined ? [] : await readRows(service.database, readTransfer(programId, transferId));
  if (transferId === undefined || found.length === 0) throw transferMissing(sentId);
  const record = await readPage(service, call, {
    prefix: 'rev',
    statement: (after, count) => listStatement({ programId, transferId }, after, count),
    read: toReversal,
    idOf: (reversal) => reversal.reversalId,
    show: toReversalRecord,
  });
  return { record };
}
