import type { Reversal } from '../../../domain/transfers/reverse-transfer.ts';
import type { Row, Statement } from '../connection/database.ts';
import { REPLICATED } from '../connection/standby.ts';
import type { NamedTransfer } from '../ledger/account.ts';
import {
  BIGINT,
  CURRENCY,
  columns,
  insertRows,
  NUMBER,
  nullable,
  statement,
  statementVariants,
  TEXT,
  TIME,
  UUID,
} from '../sql.ts';

const REVERSAL = columns({
  programId: UUID,
  reversalId: UUID,
  transferId: UUID,
  amount: BIGINT,
  currency: CURRENCY,
  description: nullable(TEXT),
  requestId: UUID,
  createdBy: nullable(UUID),
  createdAt: TIME,
});

export const insertReversals = insertRows('insert_reversals', 'reversal', REVERSAL);

const READ_REVERSAL = statement(
  'read_reversal',
  { programId: UUID, reversalId: UUID },
  `select ${REVERSAL.names}, ${REPLICATED} from reversal where program_id = :programId and reversal_id = :reversalId`,
);

export function readReversal(programId: string, reversalId: string): Statement {
  return READ_REVERSAL({ programId, reversalId });
}

const LIST_REVERSALS = statementVariants({ programId: UUID, transferId: UUID, after: nullable(UUID), count: NUMBER });

/** Reads a page of a transfer's reversals, newest first, after the reversal with the inner UUID `after`. */
export function listReversals(of: NamedTransfer, after: string | null, count: number): Statement {
  const text = () => `select ${REVERSAL.names} from reversal
    where program_id = :programId and transfer_id = :transferId ${after === null ? '' : 'and reversal_id < :after'}
    order by reversal_id desc limit :count`;
  return LIST_REVERSALS(after === null ? 'list_reversals' : 'list_reversals_after', text, { ...of, after, count });
}

export function toReversal(row: Row): Reversal {
  return REVERSAL.read(row);
}
