import type { Posting } from '../../../domain/ledger/ledger.ts';
import type { Statement } from '../connection/database.ts';
import { plainArray } from '../texts.ts';

/** A posting with what caused it: a transfer or a funding movement, as inner UUID. */
export type CausedPosting = { readonly programId: string; readonly causeId: string; readonly posting: Posting };

/** Appends postings; `now` in milliseconds since 1970, by the database's clock. */
export function insertPostings(postings: readonly CausedPosting[], now: number): Statement {
  const column = (read: (posting: Posting) => string | bigint | number): string =>
    plainArray(postings.map(({ posting }) => read(posting)));
  return {
    name: 'insert_postings',
    text: `insert into posting (program_id, cause_id, index, purpose, source_account_id, destination_account_id, amount,
        currency, source_balance, destination_balance, source_sequence, destination_sequence, created_at)
      select unnested.*, $13::timestamptz from unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::text[], $5::uuid[], $6::uuid[],
        $7::bigint[], $8::char(3)[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[]) as unnested`,
    values: [
      plainArray(postings.map(({ programId }) => programId)),
      plainArray(postings.map(({ causeId }) => causeId)),
      column((posting) => posting.index),
      column((posting) => posting.purpose),
      column((posting) => posting.sourceAccountId),
      column((posting) => posting.destinationAccountId),
      column((posting) => posting.amount),
      column((posting) => posting.currency),
      column((posting) => posting.sourceBalance),
      column((posting) => posting.destinationBalance),
      column((posting) => posting.sourceSequence),
      column((posting) => posting.destinationSequence),
      new Date(now),
    ],
  };
}
