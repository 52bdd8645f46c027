import { performance } from 'node:perf_hooks';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, countedActor, type Reply } from '../../calls/call.ts';
import { readOptionalAmount } from '../../calls/fields.ts';
import type { Processors } from '../../calls/processors.ts';
import { creatorOf } from '../../calls/records/transfer.ts';
import { newId } from '../../foundation/ids.ts';
import type { Row, Statement } from '../../store/connection/database.ts';
import { findDueTransfers, findExpiredHolds } from '../../store/transfers/transfer.ts';
import type { TransferService } from './lane.ts';
import { type DueRequest, toChange } from './request.ts';
import { toReversalReply, toTransferReply } from './respond.ts';

/** capture_transfer: returns the completed transfer. The part of the hold that is not captured is released. */
export async function captureTransfer(
  service: TransferService,
  call: Call<'capture_transfer'>,
): Promise<Reply<'capture_transfer'>> {
  const request = { ...toChange(call), command: 'capture' as const, amount: readOptionalAmount(call.body.amount) };
  return toTransferReply(service, call, await service.transfers.submit(request, call.deadline), 'yes');
}

/** cancel_transfer: returns the canceled transfer and releases its hold. This is possible even while the service is disabled. */
export async function cancelTransfer(
  service: TransferService,
  call: Call<'cancel_transfer'>,
): Promise<Reply<'cancel_transfer'>> {
  const request = { ...toChange(call), command: 'cancel' as const };
  return toTransferReply(service, call, await service.transfers.submit(request, call.deadline), 'no');
}

/**
 * update_transfer: applies a merge patch to the metadata. Nothing else of a transfer can be updated. The change is committed in the
 * same groups as transfers, so the status and the metadata in every event are from the same moment.
 */
export async function updateTransfer(
  service: TransferService,
  call: Call<'update_transfer'>,
): Promise<Reply<'update_transfer'>> {
  // Applying a merge patch again is safe, so its response does not have to be stored under the key.
  const change = { command: 'update' as const, metadata: call.body.metadata, ifMatch: call.ifMatch };
  const request = { ...toChange(call), key: null, ...change };
  return toTransferReply(service, call, await service.transfers.submit(request, call.deadline), 'no');
}

export async function reverseTransfer(
  service: TransferService,
  call: Call<'reverse_transfer'>,
): Promise<Reply<'reverse_transfer'>> {
  const { amount, description = null } = call.body;
  const asked = { amount: readOptionalAmount(amount), description, createdBy: creatorOf(call.caller) };
  const counted = { countedActor: countedActor(service.operatorLimits, call.caller) };
  const request = { ...toChange(call), command: 'reverse' as const, ...asked, ...counted };
  return toReversalReply(service, call, await service.transfers.submit(request, call.deadline));
}

/** Maximum number of due items of each kind in one round. */
const PORTION = 500;

const ROUND_MILLISECONDS = 4000;

/** The lane, with a database that can read all programs, and the connectors of this process. */
export type DueService = Pick<TransferService, 'database' | 'transfers'> & {
  readonly processors: Pick<Processors, 'connectorIds'>;
};

/** The result of a round. `more` is true if it was full, so that the next round starts immediately. */
export type DueRound = { readonly settled: number; readonly failed: number; readonly more: boolean };

/**
 * Releases expired holds and executes scheduled transfers that are due. Several processes can do this at once, and a caller's
 * request can be first. Any later attempt finds the transfer's new status and changes nothing.
 */
export async function settleDue(service: DueService): Promise<DueRound> {
  // The statements run one after the other, so that an idle process needs only one connection.
  const expired = await findDue(service, findExpiredHolds(PORTION), 'expire');
  const due = await findDue(service, findDueTransfers(service.processors.connectorIds, PORTION), 'execute');
  const deadline = performance.now() + ROUND_MILLISECONDS;
  const requests = [...expired, ...due];
  const outcomes = await Promise.allSettled(requests.map((request) => service.transfers.submit(request, deadline)));
  const failed = outcomes.filter(({ status }) => status === 'rejected').length;
  const refused = outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value instanceof Refusal);
  const settled = outcomes.length - failed - refused.length;
  return { settled, failed, more: settled > 0 && (expired.length === PORTION || due.length === PORTION) };
}

async function findDue(
  { database }: DueService,
  statement: Statement,
  command: DueRequest['command'],
): Promise<readonly DueRequest[]> {
  const rows = await database.read(statement);
  return rows.map((row: Row) => ({
    command,
    programId: row.program_id as string,
    transferId: row.transfer_id as string,
    requestId: newId(),
    key: null,
    operator: null,
  }));
}
