import type { Row, Statement } from '../connection/database.ts';
import {
  BIGINT,
  CURRENCY,
  columns,
  insertRow,
  NUMBER,
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

const LIST_MOVEMENTS = statement(
  'list_funding_movements',
  { programId: UUID, after: nullable(UUID), count: NUMBER },
  `select funding_movement.*,
      case kind when 'deposit' then posting.destination_balance else posting.source_balance end as balance
    from (
      select * from funding_movement
      where program_id = :programId and (:after::uuid is null or movement_id < :after)
      order by movement_id desc limit :count
    ) as funding_movement
    join posting on posting.program_id = funding_movement.program_id and posting.cause_id = movement_id
      and posting.purpose in ('deposit', 'withdrawal')
    order by movement_id desc`,
);

/** Reads a page of the deposits and withdrawals of a program, newest first, after the movement `after` (inner UUID). */
export function listFundingMovements(programId: string, after: string | null, count: number): Statement {
  return LIST_MOVEMENTS({ programId, after, count });
}

const AFTERWARDS = columns({ balance: BIGINT, createdAt: TIME });

/** A deposit or withdrawal, the balance of the funding account after it, and when it was made. */
export type MadeMovement = {
  readonly movement: FundingMovement;
  readonly balance: bigint;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
};

/** A deposit or withdrawal from a row of {@link readFundingMovement} or {@link listFundingMovements}. */
export function toFundingMovement(row: Row): MadeMovement {
  return { movement: MOVEMENT.read(row), ...AFTERWARDS.read(row) };
}
