import type { Statement } from './database.ts';

/** A deposit or a withdrawal; amount in minor units, `actor` who did it. */
export type FundingMovement = {
  readonly programId: string;
  readonly movementId: string;
  readonly kind: 'deposit' | 'withdrawal';
  readonly amount: bigint;
  readonly currency: string;
  readonly description: string | null;
  readonly actor: string;
};

/** Records a deposit or withdrawal; its posting is written beside it. */
export function insertFundingMovement(movement: FundingMovement, now: number): Statement {
  return {
    name: 'insert_funding_movement',
    text: `insert into funding_movement (program_id, movement_id, kind, amount, currency, description, actor, created_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      movement.programId,
      movement.movementId,
      movement.kind,
      movement.amount,
      movement.currency,
      movement.description,
      movement.actor,
      new Date(now),
    ],
  };
}
