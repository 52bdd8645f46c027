import { NAMED_TRANSFER } from '../ledger/account.ts';
import { BIGINT, columns, insertRows, statementOfRows, TIME, UUID } from '../sql.ts';

const HOLD = columns({
  programId: UUID,
  transferId: UUID,
  sourceAccountId: UUID,
  destinationAccountId: UUID,
  amount: BIGINT,
  expiresAt: TIME,
  dayStart: TIME,
});

/** Inserts holds. */
export const insertHolds = insertRows('insert_holds', 'hold', HOLD);

/** Deletes holds that have ended. */
export const deleteHolds = statementOfRows(
  'delete_holds',
  NAMED_TRANSFER,
  'delete from hold using :sent where hold.program_id = sent.program_id and hold.transfer_id = sent.transfer_id',
);
