import type { CreateTransferBody } from '../../contract/transfers.ts';
import { readAmount } from '../../domain/ledger/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { checkTerms, type TransferRequest, toTransferRequest } from './request.ts';
import { giveAnswer } from './respond.ts';

/**
 * create_transfer (specification, section 4): 201 with the transfer, or the first refusal that applies.
 * With an idempotency key the first answer is given again, to the letter.
 */
export async function createTransfer(service: Service, call: Call): Promise<Reply> {
  const request = readTransferRequest(call);
  const answer = await service.transfers.submit(request, call.deadline);
  return giveAnswer(service, call.programId, answer, 201);
}

/** The request that a body asks for. Throws a Refusal for cards that do not fit the type, then for the amount. */
function readTransferRequest(call: Call): TransferRequest {
  const body = call.members as CreateTransferBody;
  checkTerms(call, body);
  const reading = readAmount(body.amount);
  if ('problem' in reading) throw new Refusal('invalid_amount', reading.problem, { field: '/amount' });
  return toTransferRequest(call, reading.amount);
}
