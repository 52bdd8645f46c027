import { MAX_METADATA_PAIRS } from '../../contract/schema-parts.ts';
import { refuseTexts } from '../../domain/cards/erase-card-holder.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { auditOf, withoutHolderValues } from '../audit/audit.ts';
import { transact } from '../commit/transaction.ts';
import { type Call, type Reply, schemaRefusal } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { readErasureOfTransfer } from '../store/card-erasure.ts';
import { insertEvents } from '../store/events/insert-events.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';
import {
  deleteMetadata,
  insertMetadata,
  lockTransfer,
  readTransfer,
  toTransfer,
  writeMetadata,
} from '../store/transfers/transfer.ts';
import { transferMissing } from './request.ts';
import { toTransferRecord } from './respond.ts';

type UpdateCall = Call<'update_transfer'>;

/**
 * update_transfer: a merge patch (RFC 7396) of the metadata: null removes a pair, and null in place of the pairs removes
 * all of them. Nothing else of a transfer can be updated.
 */
export async function updateTransfer(service: Service, call: UpdateCall): Promise<Reply<'update_transfer'>> {
  const { metadata: sent } = call.body;
  const { programId } = call;
  const { transfer_id: sentId } = call.params;
  const transferId = fromWireId('tr', sentId);
  if (transferId === undefined) throw transferMissing(sentId);
  const named = { programId, transferId };
  const load = {
    lock: lockTransfer(named),
    clock: READ_SWITCH,
    transfer: readTransfer(programId, transferId),
    erasure: readErasureOfTransfer(named),
  };
  return transact(service.database, call.deadline, load, (loaded, batchId) => {
    const [row] = loaded.transfer;
    if (row === undefined) throw transferMissing(sentId);
    const [erasure] = loaded.erasure;
    if (erasure !== undefined) throw refuseTexts(String(erasure.card_name));
    const { now } = toSwitchReading(loaded.clock);
    const before = toTransfer(row);
    const metadata = merge(call, before.metadata, sent);
    const record = toTransferRecord({ ...before, metadata, updatedAt: now });
    const json = JSON.stringify(record);
    const details = JSON.stringify({ ...withoutHolderValues(record), change: withoutHolderValues({ metadata: sent }) });
    const event = { type: 'transfer.updated' as const, programId, subjectId: record.transfer_id, payload: json };
    const pairs = Object.keys(metadata).length === 0 ? [] : [insertMetadata([{ ...named, metadata }])];
    const writes = [
      writeMetadata(named, metadata, now),
      deleteMetadata(named),
      ...pairs,
      insertEvents(batchId, [event], now, call),
      ...auditOf(call, { programId, subjectId: record.transfer_id, details }),
    ];
    return { result: { record, json }, writes };
  });
}

/** The metadata after a change. How many pairs remain shows only here. */
function merge(
  call: UpdateCall,
  before: Readonly<Record<string, string>>,
  change: UpdateCall['body']['metadata'],
): Readonly<Record<string, string>> {
  if (change === null) return {};
  const pairs = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(change)) {
    if (value === null) pairs.delete(name);
    else pairs.set(name, value);
  }
  if (pairs.size > MAX_METADATA_PAIRS) {
    const message =
      `'metadata' can have ${MAX_METADATA_PAIRS} pairs, but with this change it would have ${pairs.size}. Send null for ` +
      'the names of the pairs to remove.';
    throw schemaRefusal(call, message, '/metadata');
  }
  return Object.fromEntries(pairs);
}
