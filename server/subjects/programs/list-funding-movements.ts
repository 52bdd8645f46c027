import type { FundingMovementRecord } from '../../../contract/programs.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { readPair } from '../../calls/metadata.ts';
import { readPage } from '../../calls/page.ts';
import { loadProgram } from '../../calls/program.ts';
import type { Service } from '../../calls/service.ts';
import type { FundingMovement, MadeMovement } from '../../store/ledger/funding.ts';
import { listFundingMovements as listStatement, toFundingMovement } from '../../store/ledger/funding.ts';

/** list_funding_movements: a page of a program's deposits and withdrawals, newest first. */
export async function listFundingMovements(
  service: Service,
  call: Call<'list_funding_movements'>,
): Promise<Reply<'list_funding_movements'>> {
  const { programId } = await loadProgram(service, call.params.program_id);
  const { reference = null } = call.query;
  const filter = { reference, metadata: readPair(call) };
  const record = await readPage(service, call, {
    // All cursors of this list have this prefix, also if the last movement is a withdrawal.
    prefix: 'dep',
    statement: (after, count) => listStatement(programId, filter, after, count),
    // A client decides by a look-up whether to send a request again, so what it finds must survive a failover.
    isProof: reference !== null,
    read: toFundingMovement,
    idOf: ({ movement }) => movement.movementId,
    show: toMovementRecord,
  });
  return { record };
}

/** The id of a deposit or withdrawal on the wire. */
export function movementIdOf({ kind, movementId }: Pick<FundingMovement, 'kind' | 'movementId'>): string {
  return toWireId(kind === 'deposit' ? 'dep' : 'wd', movementId);
}

/** A deposit or withdrawal as the contract shows it. */
export function toMovementRecord({ movement, balance, createdAt }: MadeMovement): FundingMovementRecord {
  return {
    movement_id: movementIdOf(movement),
    program_id: toWireId('prog', movement.programId),
    kind: movement.kind,
    amount: toWire(movement.amount),
    currency: movement.currency,
    balance: toWire(balance),
    description: movement.description,
    reference: movement.reference,
    metadata: movement.metadata,
    created_at: new Date(createdAt).toISOString(),
  };
}
