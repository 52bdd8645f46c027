import type { Statement } from '../connection/database.ts';
import type { NamedTransfer } from '../ledger/account.ts';
import { plainArray } from '../texts.ts';

/** A transfer with the pairs that it is to be found by. */
export type DescribedTransfer = NamedTransfer & { readonly metadata: Readonly<Record<string, string>> };

/** Writes the pairs of transfers that had none. */
export function insertMetadata(transfers: readonly DescribedTransfer[]): Statement {
  const pairs = transfers.flatMap(({ programId, transferId, metadata }) =>
    Object.entries(metadata).map(([name, value]) => ({ programId, transferId, name, value })),
  );
  return {
    name: 'insert_metadata',
    text: `insert into transfer_metadata (program_id, name, value, transfer_id)
      select * from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[])`,
    values: [
      plainArray(pairs.map((pair) => pair.programId)),
      pairs.map((pair) => pair.name),
      pairs.map((pair) => pair.value),
      plainArray(pairs.map((pair) => pair.transferId)),
    ],
  };
}

/** Takes away the pairs of a transfer. */
export function deleteMetadata({ programId, transferId }: NamedTransfer): Statement {
  return {
    name: 'delete_metadata',
    text: 'delete from transfer_metadata where program_id = $1 and transfer_id = $2',
    values: [programId, transferId],
  };
}
