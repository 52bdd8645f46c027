import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { toCommon } from './request.ts';
import { giveAnswer } from './respond.ts';

/** cancel_transfer: 200 with the transfer, canceled; what it held is released. Also while the service is disabled. */
export async function cancelTransfer(service: Service, call: Call): Promise<Reply> {
  const answer = await service.transfers.submit({ ...toCommon(call), command: 'cancel' }, call.deadline);
  return giveAnswer(service, call.programId, answer, 200);
}
