import type { FundingMovementRecord } from '../../../contract/programs.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import type { FundingMovement, MadeMovement } from '../../store/ledger/funding.ts';

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
