import type { Row, Statement } from '../connection/database.ts';
import {
  BIGINT,
  CURRENCY,
  columns,
  insertRow,
  nullable,
  type RowOf,
  statement,
  TEXT,
  TIME,
  UUID,
  word,
} from '../sql.ts';

const MOVEMENT = columns({
  programId: UUID,
  movementId: UUID,
  kind: word<'deposit' | 'withdrawal'>(),
  /** Minor units. */
  amount: BIGINT,
  currency: CURRENCY,
  description: nullable(TEXT),
  /** Who did it. */
  actor: TEXT,
});

/** A deposit or a withdrawal. */
export type FundingMovement = RowOf<typeof MOVEMENT.columns>;

const INSERT_MOVEMENT = insertRow(
  'insert_funding_movement',
  'funding_movement',
  columns({ ...MOVEMENT.columns, createdAt: TIME }),
);

/** Inserts a deposit or withdrawal; its posting is inserted beside it. */
export function insertFundingMovement(movement: FundingMovement, now: number): Statement {
  return INSERT_MOVEMENT({ ...movement, createdAt: now });
}

const READ_MOVEMENT = statement(
  'read_funding_movement',
  { programId: UUID, movementId: UUID },
  `select funding_movement.*,
      case kind when 'deposit' then posting.destination_balance else posting.source_balance end as balance
    from funding_movement
    join posting on posting.program_id = funding_movement.program_id and posting.cause_id = movement_id
      and posting.purpose in ('deposit', 'withdrawal')
    where funding_movement.program_id = :programId and movement_id = :movementId`,
);

/** Reads a deposit or withdrawal, with the balance of the funding account after it. */
export function readFundingMovement(programId: string, movementId: string): Statement {
  return READ_MOVEMENT({ programId, movementId });
}

const AFTERWARDS = columns({ balance: BIGINT, createdAt: TIME });

/** A deposit or withdrawal from a row of {@link readFundingMovement}. */
export function toFundingMovement(row: Row): { movement: FundingMovement; balance: bigint; createdAt: number } {
  return { movement: MOVEMENT.read(row), ...AFTERWARDS.read(row) };
}
