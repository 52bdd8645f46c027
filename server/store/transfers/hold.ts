import type { Hold } from '../../../domain/transfers/hold.ts';
import type { Statement } from '../connection/database.ts';
import type { NamedTransfer } from '../ledger/account.ts';
import { plainArray } from '../texts.ts';

/** Writes holds that were opened. */
export function insertHolds(holds: readonly Hold[]): Statement {
  return {
    name: 'insert_holds',
    text: `insert into hold (program_id, transfer_id, source_account_id, destination_account_id, amount, expires_at,
        day_start)
      select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::bigint[], $6::timestamptz[],
        $7::timestamptz[])`,
    values: [
      plainArray(holds.map((hold) => hold.programId)),
      plainArray(holds.map((hold) => hold.transferId)),
      plainArray(holds.map((hold) => hold.sourceAccountId)),
      plainArray(holds.map((hold) => hold.destinationAccountId)),
      plainArray(holds.map((hold) => hold.amount)),
      holds.map((hold) => new Date(hold.expiresAt)),
      holds.map((hold) => new Date(hold.dayStart)),
    ],
  };
}

/** Takes away holds that have ended. */
export function deleteHolds(holds: readonly NamedTransfer[]): Statement {
  return {
    name: 'delete_holds',
    text: `delete from hold using unnest($1::uuid[], $2::uuid[]) as ended(program_id, transfer_id)
      where hold.program_id = ended.program_id and hold.transfer_id = ended.transfer_id`,
    values: [plainArray(holds.map((hold) => hold.programId)), plainArray(holds.map((hold) => hold.transferId))],
  };
}
