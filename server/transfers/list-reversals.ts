import type { PageQuery } from '../../contract/schema-parts.ts';
import { fromWireId } from '../../domain/identifier.ts';
import type { Reversal } from '../../domain/transfers/reverse-transfer.ts';
import { readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { answerPage, readCursor } from '../operations/page.ts';
import { toReversalRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { listReversals as listReversalsStatement, toReversal } from '../store/transfers/reversal.ts';
import { readTransfer } from '../store/transfers/transfer.ts';
import { transferMissing } from './decide.ts';

/** list_reversals: a page of a transfer's reversals, newest first, or `transfer_not_found`. */
export async function listReversals(service: Service, call: Call): Promise<Reply> {
  const { programId } = call;
  // The form of a request is judged before anybody looks for what it names.
  readCursor(call, 'rev', (call.members as PageQuery).cursor);
  const asked = call.parameters.transfer_id ?? '';
  const transferId = fromWireId('tr', asked);
  const found = transferId === undefined ? [] : await readRows(service.database, readTransfer(programId, transferId));
  if (transferId === undefined || found.length === 0) throw transferMissing(asked);
  return answerPage<Reversal>(service, call, {
    prefix: 'rev',
    statement: (after, count) => listReversalsStatement({ programId, transferId }, after, count),
    read: toReversal,
    idOf: (reversal) => reversal.reversalId,
    show: toReversalRecord,
  });
}
