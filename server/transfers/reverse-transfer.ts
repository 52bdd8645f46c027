import type { ReverseTransferBody } from '../../contract/transfer-actions.ts';
import { Refusal } from '../../domain/refusal.ts';
import { readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { toReversalRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { readReversal, toReversal } from '../store/transfers/reversal.ts';
import { reversalPath } from './decide.ts';
import { readOptionalAmount, toCommon } from './request.ts';

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
