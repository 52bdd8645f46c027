import { Refusal } from '../../domain/refusal.ts';
import { readRows } from '../commit/transaction.ts';
import type { Reply } from '../operations/call.ts';
import { toTransferRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { readTransfer, toTransfer } from '../store/transfers/transfer.ts';
import { type TransferAnswer, transferPath } from './decide.ts';

/**
 * The reply to a request that was committed in a group; throws its refusal. Where a key is so old that its first answer
 * is no longer kept, the answer is the transfer as it is now.
 */
export async function giveAnswer(
  service: Service,
  programId: string,
  answer: TransferAnswer,
  status: 200 | 201,
): Promise<Reply> {
  if (answer instanceof Refusal) throw answer;
  if (!('replayOf' in answer)) return answer;
  const [row] = await readRows(service.database, readTransfer(programId, answer.replayOf));
  if (row === undefined) throw new Error('a kept answer names a transfer that is not there');
  const body = JSON.stringify(toTransferRecord(toTransfer(row)));
  const reply = { status, body, replayed: true };
  return status === 200 ? reply : { ...reply, location: transferPath(answer.replayOf) };
}
