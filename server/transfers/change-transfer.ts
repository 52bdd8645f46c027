import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { readOptionalAmount, toChange } from './request.ts';
import { toReversalReply, toTransferReply } from './respond.ts';

/** capture_transfer: the completed transfer. The part of the hold that was not captured is released. */
export async function captureTransfer(
  service: Service,
  call: Call<'capture_transfer'>,
): Promise<Reply<'capture_transfer'>> {
  const request = { ...toChange(call), command: 'capture' as const, amount: readOptionalAmount(call.body.amount) };
  return toTransferReply(service, call, await service.transfers.submit(request, call.deadline));
}

/** cancel_transfer: the canceled transfer. Its hold is released. Also possible while the service is disabled. */
export async function cancelTransfer(
  service: Service,
  call: Call<'cancel_transfer'>,
): Promise<Reply<'cancel_transfer'>> {
  const request = { ...toChange(call), command: 'cancel' as const };
  return toTransferReply(service, call, await service.transfers.submit(request, call.deadline));
}

/** reverse_transfer: the reversal. */
export async function reverseTransfer(
  service: Service,
  call: Call<'reverse_transfer'>,
): Promise<Reply<'reverse_transfer'>> {
  const { amount, description = null } = call.body;
  const request = { ...toChange(call), command: 'reverse' as const, amount: readOptionalAmount(amount), description };
  return toReversalReply(service, call, await service.transfers.submit(request, call.deadline));
}
