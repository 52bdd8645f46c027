import type { CaptureTransferBody } from '../../contract/transfer-actions.ts';
import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { readOptionalAmount, toCommon } from './request.ts';
import { giveAnswer } from './respond.ts';

/** capture_transfer: 200 with the transfer, completed; what was not captured is released. */
export async function captureTransfer(service: Service, call: Call): Promise<Reply> {
  const { amount } = call.members as CaptureTransferBody;
  const request = { ...toCommon(call), command: 'capture' as const, amount: readOptionalAmount(amount) };
  const answer = await service.transfers.submit(request, call.deadline);
  return giveAnswer(service, call.programId, answer, 200);
}
