import { MAX_METADATA_PAIRS } from '../../contract/schema-parts.ts';
import type { UpdateTransferBody } from '../../contract/transfers.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { auditIfOperator } from '../audit/audit.ts';
import { transact } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { toTransferRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { insertEvents } from '../store/event.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';
import {
  deleteMetadata,
  insertMetadata,
  lockTransfer,
  readTransfer,
  toTransfer,
  writeMetadata,
} from '../store/transfers/transfer.ts';
import { transferMissing } from './decide.ts';

/**
 * update_transfer: merges the pairs that are sent into the metadata of the transfer (RFC 7396): null removes a pair, and
 * null in place of the pairs removes all. Nothing else of a transfer changes by request.
 */
export async function updateTransfer(service: Service, call: Call): Promise<Reply> {
  const { metadata: sent } = call.members as UpdateTransferBody;
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
    const before = toTransfer(row);
    const metadata = merge(call, before.metadata, sent);
    const record = toTransferRecord({ ...before, metadata, updatedAt: now });
    const payload = JSON.stringify(record);
    const details = JSON.stringify({ ...record, change: { metadata: sent } });
    const event = { type: 'transfer.updated' as const, programId, subjectId: record.transfer_id, payload };
    const pairs = Object.keys(metadata).length === 0 ? [] : [insertMetadata([{ ...named, metadata }])];
    const writes = [
      writeMetadata(named, metadata, now),
      deleteMetadata(named),
      ...pairs,
      insertEvents(batchId, [event], now),
      ...auditIfOperator(call, { programId, subjectId: record.transfer_id, details }),
    ];
    return { result: payload, writes };
  });
  return { status: 200, body };
}

/** Metadata after a change. How many pairs remain is a fault of the form that shows only here. */
function merge(
  call: Call,
  before: Readonly<Record<string, string>>,
  change: UpdateTransferBody['metadata'],
): Readonly<Record<string, string>> {
  if (change === null) return {};
  const pairs = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(change)) {
    if (value === null) pairs.delete(name);
    else pairs.set(name, value);
  }
  if (pairs.size > MAX_METADATA_PAIRS) {
    const message =
      `'metadata' can hold ${MAX_METADATA_PAIRS} pairs, but with this change it would hold ${pairs.size}. Send null for ` +
      'the names of pairs that are to be removed.';
    throw new Refusal(`${call.operation}_schema`, message, { field: '/metadata' });
  }
  return Object.fromEntries(pairs);
}
