import type { Call, Reply } from '../../calls/call.ts';
import { readPair } from '../../calls/metadata.ts';
import { readPage } from '../../calls/page.ts';
import { loadProgram } from '../../calls/program.ts';
import type { Service } from '../../calls/service.ts';
import { listFundingMovements as listStatement, toFundingMovement } from '../../store/ledger/funding.ts';
import { toMovementRecord } from './movement-record.ts';

/** list_funding_movements: a page of a program's deposits and withdrawals, newest first. */
export async function listFundingMovements(
  service: Service,
  call: Call<'list_funding_movements'>,
): Promise<Reply<'list_funding_movements'>> {
  const { programId } = await loadProgram(service, call.params.program_id);
  const { reference = null } = call.query;
  const filter = { reference, metadata: readPair(call) };
  const record = await readPage(service, call, {
    // Of every cursor of this list, also where the last movement is a withdrawal.
    prefix: 'dep',
    statement: (after, count) => listStatement(programId, filter, after, count),
    // A look-up tells whether a request has moved the money.
    isProof: reference !== null,
    read: toFundingMovement,
    idOf: ({ movement }) => movement.movementId,
    show: toMovementRecord,
  });
  return { record };
}
