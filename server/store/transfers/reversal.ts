import type { Reversal } from '../../../domain/transfers/reverse-transfer.ts';
import type { Row, Statement } from '../connection/database.ts';
import { REPLICATED } from '../connection/standby.ts';
import type { NamedTransfer } from '../ledger/account.ts';
import { plainArray } from '../texts.ts';

const COLUMNS = 'program_id, reversal_id, transfer_id, amount, currency, description, request_id, created_at';

/** Appends reversals. */
export function insertReversals(reversals: readonly Reversal[]): Statement {
  return {
    name: 'insert_reversals',
    text: `insert into reversal (${COLUMNS}) select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[],
        $5::char(3)[], $6::text[], $7::uuid[], $8::timestamptz[])`,
    values: [
      plainArray(reversals.map((reversal) => reversal.programId)),
      plainArray(reversals.map((reversal) => reversal.reversalId)),
      plainArray(reversals.map((reversal) => reversal.transferId)),
      plainArray(reversals.map((reversal) => reversal.amount)),
      plainArray(reversals.map((reversal) => reversal.currency)),
      reversals.map((reversal) => reversal.description),
      plainArray(reversals.map((reversal) => reversal.requestId)),
      reversals.map((reversal) => new Date(reversal.createdAt)),
    ],
  };
}

/** Reads one reversal. */
export function readReversal(programId: string, reversalId: string): Statement {
  return {
    name: 'read_reversal',
    text: `select ${COLUMNS}, ${REPLICATED} from reversal where program_id = $1 and reversal_id = $2`,
    values: [programId, reversalId],
  };
}

/** Reads a page of a transfer's reversals, newest first, that come after the one with the inner UUID `after`. */
export function listReversals(of: NamedTransfer, after: string | null, count: number): Statement {
  return {
    name: after === null ? 'list_reversals' : 'list_reversals_after',
    text: `select ${COLUMNS} from reversal
      where program_id = $1 and transfer_id = $2 ${after === null ? '' : 'and reversal_id < $4'}
      order by reversal_id desc limit $3`,
    values: [of.programId, of.transferId, count, ...(after === null ? [] : [after])],
  };
}

/** A reversal from a row of {@link readReversal} or {@link listReversals}. */
export function toReversal(row: Row): Reversal {
  return {
    programId: row.program_id as string,
    reversalId: row.reversal_id as string,
    transferId: row.transfer_id as string,
    amount: row.amount as bigint,
    currency: row.currency as string,
    description: row.description as string | null,
    requestId: row.request_id as string,
    createdAt: (row.created_at as Date).getTime(),
  };
}
