import type { FundingMovementRecord } from '../../contract/programs.ts';
import { toWireId } from '../../domain/identifier.ts';
import { toWire } from '../../domain/ledger/money.ts';
import type { MadeMovement } from '../store/ledger/funding.ts';

/** A deposit or withdrawal as the contract shows it. */
export function toMovementRecord({ movement, balance, createdAt }: MadeMovement): FundingMovementRecord {
  return {
    movement_id: toWireId(movement.kind === 'deposit' ? 'dep' : 'wd', movement.movementId),
    program_id: toWireId('prog', movement.programId),
    kind: movement.kind,
    amount: toWire(movement.amount),
    currency: movement.currency,
    balance: toWire(balance),
    description: movement.description,
    created_at: new Date(createdAt).toISOString(),
  };
}
