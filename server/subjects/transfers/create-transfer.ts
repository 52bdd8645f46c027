import type { CreateTransferBody } from '../../../contract/transfers.ts';
import { readAmount } from '../../../domain/ledger/money.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { waitsForProcessor } from '../../../domain/transfers/transfer.ts';
import type { Call, CallContext, Reply } from '../../calls/call.ts';
import type { TransferService } from './lane.ts';
import { type CreateRequest, checkTerms, toCreateRequest } from './request.ts';
import { movedBy, toTransferReply } from './respond.ts';
import { waitForEnd } from './wait-for-end.ts';

/**
 * create_transfer (specification, section 4): the transfer, or the first refusal that applies. Apart from the validation of
 * the request, everything is decided by the group that commits it. Where the caller prefers to wait, the transfer as the
 * processor of its card has left it by then.
 */
export async function createTransfer(
  service: TransferService,
  call: Call<'create_transfer'>,
): Promise<Reply<'create_transfer'>> {
  const outcome = await service.transfers.submit(readCreateRequest(call), call.deadline);
  const { waitSeconds = 0 } = call;
  if (waitSeconds > 0 && !(outcome instanceof Refusal) && 'record' in outcome) {
    const { record } = outcome;
    // A replay is the first response, whatever has become of the transfer.
    if ('card_id' in record && waitsForProcessor(record)) return waitForEnd(service, call, record, waitSeconds);
  }
  return toTransferReply(service, call, outcome, movedOf(call.body));
}

/** Whether a created transfer has moved money: a hold for the caller or a scheduled one has not, any other by its status. */
export function movedOf({ capture, scheduled_for }: CreateTransferBody): 'no' | typeof movedBy {
  return capture === 'manual' || scheduled_for !== undefined ? 'no' : movedBy;
}

/** The request of a create_transfer. Checks that the fields fit each other, then the amount; throws the refusal. */
export function readCreateRequest(call: CallContext & Pick<Call<'create_transfer'>, 'body'>): CreateRequest {
  checkTerms(call, call.body);
  const reading = readAmount(call.body.amount);
  if ('problem' in reading) throw new Refusal('invalid_amount', reading.problem, { field: '/amount' });
  return toCreateRequest(call, reading.amount);
}
