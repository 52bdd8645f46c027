import type { Call, Reply } from '../operations/call.ts';
import { readPage } from '../operations/page.ts';
import type { Service } from '../operations/service.ts';
import { listFundingMovements as listStatement, toFundingMovement } from '../store/ledger/funding.ts';
import { toMovementRecord } from './movement-record.ts';
import { loadProgram } from './program-funding.ts';

/** list_funding_movements: a page of a program's deposits and withdrawals, newest first. */
export async function listFundingMovements(
  service: Service,
  call: Call<'list_funding_movements'>,
): Promise<Reply<'list_funding_movements'>> {
  const { programId } = await loadProgram(service, call.params.program_id);
  const record = await readPage(service, call, {
    // Of every cursor of this list, also where the last movement is a withdrawal.
    prefix: 'dep',
    statement: (after, count) => listStatement(programId, after, count),
    read: toFundingMovement,
    idOf: ({ movement }) => movement.movementId,
    show: toMovementRecord,
  });
  return { record };
}
