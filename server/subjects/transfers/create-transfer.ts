import type { CreateTransferBody } from '../../../contract/transfers.ts';
import { readAmount } from '../../../domain/ledger/money.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Call, CallContext, Reply } from '../../calls/call.ts';
import type { TransferService } from './lane.ts';
import { type CreateRequest, checkTerms, toCreateRequest } from './request.ts';
import { toTransferReply } from './respond.ts';

/**
 * create_transfer (specification, section 4): the transfer, or the first refusal that applies. Apart from the validation of
 * the request, everything is decided by the group that commits it.
 */
export async function createTransfer(
  service: TransferService,
  call: Call<'create_transfer'>,
): Promise<Reply<'create_transfer'>> {
  const outcome = await service.transfers.submit(readCreateRequest(call), call.deadline);
  return toTransferReply(service, call, outcome, movesLater(call.body) ? 'no' : 'yes');
}

/** Whether a created transfer moves no money yet: a hold or a scheduled transfer. Any other is completed or refused. */
export function movesLater({ capture, scheduled_for }: CreateTransferBody): boolean {
  return capture === 'manual' || scheduled_for !== undefined;
}

/** The request of a create_transfer. Checks that the fields fit each other, then the amount; throws the refusal. */
export function readCreateRequest(call: CallContext & Pick<Call<'create_transfer'>, 'body'>): CreateRequest {
  checkTerms(call, call.body);
  const reading = readAmount(call.body.amount);
  if ('problem' in reading) throw new Refusal('invalid_amount', reading.problem, { field: '/amount' });
  return toCreateRequest(call, reading.amount);
}
