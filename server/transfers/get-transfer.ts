import { fromWireId } from '../../domain/identifier.ts';
import { insistOnProof, readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { toTransferRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { readTransfer, toTransfer } from '../store/transfers/transfer.ts';
import { transferMissing } from './decide.ts';

/** get_transfer: the transfer, or `transfer_not_found`. */
export async function getTransfer(service: Service, call: Call): Promise<Reply> {
  const asked = call.parameters.transfer_id ?? '';
  const transferId = fromWireId('tr', asked);
  const rows =
    transferId === undefined ? [] : await readRows(service.database, readTransfer(call.programId, transferId));
  await insistOnProof(service.database, call.deadline, rows);
  const [row] = rows;
  if (row !== undefined) return { status: 200, body: JSON.stringify(toTransferRecord(toTransfer(row))) };
  throw transferMissing(asked);
}
