import type { UpdateTransferBody } from '../../contract/transfer-schemas.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { insertEvents } from '../store/event.ts';
import { deleteMetadata, insertMetadata } from '../store/metadata.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';
import { lockTransfer, readTransfer, toTransfer, writeMetadata } from '../store/transfer.ts';
import { auditIfOperator } from './audit.ts';
import type { Call, Reply } from './call.ts';
import { toTransferRecord } from './records.ts';
import type { Service } from './service.ts';
import { transact } from './transaction.ts';
import { transferMissing } from './transfer-books.ts';

/** update_transfer: other metadata in the place of what the transfer had; nothing else of it changes by request. */
export async function updateTransfer(service: Service, call: Call): Promise<Reply> {
  const { metadata } = call.members as UpdateTransferBody;
  const { programId } = call;
  const asked = call.parameters.transfer_id ?? '';
  const transferId = fromWireId('tr', asked);
  if (transferId === undefined) throw transferMissing(asked);
  const named = { programId, transferId };
  const load = { lock: lockTransfer(named), clock: READ_SWITCH, transfer: readTransfer(programId, transferId) };
  const body = await transact(service.database, call.deadline, load, (loaded, batchId) => {
    const [row] = loaded.transfer;
    if (row === undefined) throw transferMissing(asked);
    const { now } = toSwitchReading(loaded.clock);
    const record = toTransferRecord({ ...toTransfer(row), metadata, updatedAt: now });
    const payload = JSON.stringify(record);
    const event = { type: 'transfer.updated' as const, programId, subjectId: record.transfer_id, payload };
    const pairs = Object.keys(metadata).length === 0 ? [] : [insertMetadata([{ ...named, metadata }])];
    const writes = [
      writeMetadata(named, metadata, now),
      deleteMetadata(named),
      ...pairs,
      insertEvents(batchId, [event], now),
      ...auditIfOperator(call, { programId, subjectId: record.transfer_id, details: payload }),
    ];
    return { result: payload, writes };
  });
  return { status: 200, body };
}
