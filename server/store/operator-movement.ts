import type { CountedMovement } from '../../domain/people/operator-limits.ts';
import type { Row } from './connection/database.ts';
import { BIGINT, CURRENCY, columns, many, statement, statementOfRows, TEXT, TIME } from './sql.ts';

const COUNTED_MOVEMENT = columns({ actor: TEXT, currency: CURRENCY, dayStart: TIME, amount: BIGINT });

/** Reads the totals of people. The transaction has locked their names (kind `operator`). */
export const readCountedMovements = statement(
  'read_counted_movements',
  { actors: many(TEXT) },
  `select ${COUNTED_MOVEMENT.names} from operator_movement where actor = any (:actors)`,
);

export function toCountedMovement(row: Row): CountedMovement {
  return COUNTED_MOVEMENT.read(row);
}

/** Stores totals. The lock on the person's name ensures that the total is based on the latest stored one. */
export const writeCountedMovements = statementOfRows(
  'write_counted_movements',
  COUNTED_MOVEMENT,
  `insert into operator_movement (${COUNTED_MOVEMENT.names}) select ${COUNTED_MOVEMENT.names} from :sent
    on conflict (actor, currency) do update set day_start = excluded.day_start, amount = excluded.amount`,
);
