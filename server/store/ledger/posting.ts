import type { Posting, PostingPurpose } from '../../../domain/ledger/ledger.ts';
import type { Statement } from '../connection/database.ts';
import { rows, statement } from '../sql.ts';
import { BIGINT, CURRENCY, columns, SMALLINT, TIME, UUID, word } from '../table.ts';

/** A posting with its cause: a transfer, a reversal or a funding movement, as inner UUID. */
export type CausedPosting = Posting & { readonly programId: string; readonly causeId: string };

const POSTING = columns({
  programId: UUID,
  causeId: UUID,
  index: SMALLINT,
  purpose: word<PostingPurpose>(),
  sourceAccountId: UUID,
  destinationAccountId: UUID,
  amount: BIGINT,
  currency: CURRENCY,
  sourceBalance: BIGINT,
  destinationBalance: BIGINT,
  sourceSequence: BIGINT,
  destinationSequence: BIGINT,
});

const INSERT_POSTINGS = statement(
  'insert_postings',
  { postings: rows(POSTING), now: TIME },
  `insert into posting (${POSTING.names}, created_at) select postings.*, :now::timestamptz from :postings`,
);

/** Inserts postings; `now` in milliseconds since 1970, by the database's clock. */
export function insertPostings(postings: readonly CausedPosting[], now: number): Statement {
  return INSERT_POSTINGS({ postings, now });
}
