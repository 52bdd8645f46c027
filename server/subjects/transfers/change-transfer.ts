import { type Call, countedActor, type Reply } from '../../calls/call.ts';
import { readOptionalAmount } from '../../calls/fields.ts';
import { creatorOf } from '../../calls/records/transfer.ts';
import type { TransferService } from './lane.ts';
import { toChange } from './request.ts';
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
  // Applying a merge patch again is safe, so its response need not be stored under the key.
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
