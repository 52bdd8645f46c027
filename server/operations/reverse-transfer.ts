import type { ReverseTransferBody } from '../../contract/transfer-schemas.ts';
import { Refusal } from '../../domain/refusal.ts';
import { readReversal, toReversal } from '../store/reversal.ts';
import type { Call, Reply } from './call.ts';
import { toReversalRecord } from './records.ts';
import type { Service } from './service.ts';
import { readRows } from './transaction.ts';
import { reversalPath } from './transfer-books.ts';
import { readOptionalAmount, toCommon } from './transfer-request.ts';

/** reverse_transfer: 201 with the reversal. With an idempotency key the first answer is given again, to the letter. */
export async function reverseTransfer(service: Service, call: Call): Promise<Reply> {
  const body = call.members as ReverseTransferBody;
  const request = {
    ...toCommon(call),
    command: 'reverse' as const,
    amount: readOptionalAmount(body.amount),
    description: body.description ?? null,
  };
  const answer = await service.transfers.submit(request, call.deadline);
  if (answer instanceof Refusal) throw answer;
  if (!('replayOf' in answer)) return answer;
  const [row] = await readRows(service.database, readReversal(call.programId, answer.replayOf));
  if (row === undefined) throw new Error('a kept answer names a reversal that is not there');
  const record = JSON.stringify(toReversalRecord(toReversal(row)));
  return { status: 201, body: record, location: reversalPath(answer.replayOf), replayed: true };
}
