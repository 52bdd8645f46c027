import type { Row, Statement } from '../connection/database.ts';

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

/** Reads a deposit or withdrawal, with what the funding account had after it. */
export function readFundingMovement(programId: string, movementId: string): Statement {
  return {
    name: 'read_funding_movement',
    text: `select funding_movement.*,
        case kind when 'deposit' then posting.destination_balance else posting.source_balance end as balance
      from funding_movement
      join posting on posting.program_id = funding_movement.program_id and posting.cause_id = movement_id
      where funding_movement.program_id = $1 and movement_id = $2`,
    values: [programId, movementId],
  };
}

/** A deposit or withdrawal from a row of {@link readFundingMovement}. */
export function toFundingMovement(row: Row): { movement: FundingMovement; balance: bigint; createdAt: number } {
  const movement: FundingMovement = {
    programId: row.program_id as string,
    movementId: row.movement_id as string,
    kind: row.kind as FundingMovement['kind'],
    amount: row.amount as bigint,
    currency: row.currency as string,
    description: row.description as string | null,
    actor: row.actor as string,
  };
  return { movement, balance: row.balance as bigint, createdAt: (row.created_at as Date).getTime() };
}
