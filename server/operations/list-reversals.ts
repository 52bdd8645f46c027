import type { PageQuery } from '../../contract/schema-parts.ts';
import { fromWireId } from '../../domain/identifier.ts';
import type { Reversal } from '../../domain/reverse-transfer.ts';
import { listReversals as listReversalsStatement, toReversal } from '../store/reversal.ts';
import { readTransfer } from '../store/transfer.ts';
import type { Call, Reply } from './call.ts';
import { answerPage, readCursor } from './page.ts';
import { toReversalRecord } from './records.ts';
import type { Service } from './service.ts';
import { readRows } from './transaction.ts';
import { transferMissing } from './transfer-books.ts';

/** list_reversals: a page of a transfer's reversals, newest first, or `transfer_dne`. */
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
