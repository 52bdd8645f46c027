import type { CreateTransferBody } from '../../contract/schemas.ts';
import { readAmount } from '../../domain/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import { readTransfer, toTransfer } from '../store/transfer.ts';
import type { Call, Reply } from './call.ts';
import { toTransferRecord } from './records.ts';
import type { Service } from './service.ts';
import { readRows } from './transaction.ts';
import { transferPath } from './transfer-group.ts';
import { checkCards, type TransferRequest, toTransferRequest } from './transfer-request.ts';

/**
 * create_transfer (specification, section 4): 201 with the transfer, or the first refusal that applies.
 * With an idempotency key the first answer is given again, to the letter.
 */
export async function createTransfer(service: Service, call: Call): Promise<Reply> {
  const request = readTransferRequest(call);
  const answer = await service.transfers.submit(request, call.deadline);
  if (answer instanceof Refusal) throw answer;
  if (!('replayOf' in answer)) return answer;
  const [row] = await readRows(service.database, readTransfer(call.programId, answer.replayOf));
  if (row === undefined) throw new Error('a kept answer names a transfer that is not there');
  const body = JSON.stringify(toTransferRecord(toTransfer(row)));
  return { status: 201, body, location: transferPath(answer.replayOf), replayed: true };
}

/** The request that a body asks for. Throws a Refusal for cards that do not fit the type, then for the amount. */
function readTransferRequest(call: Call): TransferRequest {
  const body = call.members as CreateTransferBody;
  checkCards(call, body);
  const reading = readAmount(body.amount);
  if ('problem' in reading) throw new Refusal('invalid_amount', reading.problem, { field: '/amount' });
  return toTransferRequest(call, reading.amount);
}
