import { readAmount } from '../../domain/ledger/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { checkTerms, toCreateRequest } from './request.ts';
import { toTransferReply } from './respond.ts';

/**
 * create_transfer (specification, section 4): the transfer, or the first refusal that applies. Checks that the fields fit
 * each other, then the amount; everything else is decided under the locks.
 */
export async function createTransfer(
  service: Service,
  call: Call<'create_transfer'>,
): Promise<Reply<'create_transfer'>> {
  checkTerms(call, call.body);
  const reading = readAmount(call.body.amount);
  if ('problem' in reading) throw new Refusal('invalid_amount', reading.problem, { field: '/amount' });
  const request = toCreateRequest(call, reading.amount);
  return toTransferReply(service, call, await service.transfers.submit(request, call.deadline));
}
