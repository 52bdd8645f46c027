import type { PostingPurpose } from '../../../domain/ledger/ledger.ts';
import type { Row, Statement } from '../connection/database.ts';
import { BIGINT, columns, DATE, NUMBER, rows, statement, TIME, UUID, word } from '../sql.ts';

/** The cause of a posting (the inner UUID of a transfer or a reversal) and its time. Postings have no index by cause. */
const CAUSE = columns({ causeId: UUID, moment: DATE });

export type PostingCause = ReturnType<typeof CAUSE.read>;

const POSTING = columns({
  causeId: UUID,
  purpose: word<PostingPurpose>(),
  amount: BIGINT,
  sourceAccountId: UUID,
  sourceSequence: BIGINT,
  sourceBalance: BIGINT,
  destinationBalance: BIGINT,
  createdAt: TIME,
});

export type CausedPosting = ReturnType<typeof POSTING.read>;

const postingsWhere = (side: 'source' | 'destination'): string => `
  select ${POSTING.names} from posting
  where program_id = :programId and ${side}_account_id = of_card.account_id
    and ${side}_sequence > range.low and ${side}_sequence <= range.low + :maxExamined::bigint and cause_id = sent.cause_id`;

const READ_POSTINGS_OF_CAUSES = statement(
  'read_postings_of_causes',
  { sent: rows(CAUSE), programId: UUID, cardId: UUID, maxExamined: NUMBER },
  // Searches for a posting by its number, near the given time and among the latest postings, because a sandbox's clock may
  // have been set back.
  `with of_card as materialized (
      select account.account_id, account.sequence
      from card cross join lateral (
        select account_id, sequence from account
        where account.program_id = :programId and account.account_id = card.account_id limit 1
      ) as account
      where card.program_id = :programId and card.card_id = :cardId
    )
    select found.* from :sent cross join of_card
    cross join lateral (
      values (last_sequence_before(:programId, of_card.account_id, sent.moment)),
        (greatest(of_card.sequence - :maxExamined::bigint, 0))
    ) as range (low)
    cross join lateral (${postingsWhere('source')} union all ${postingsWhere('destination')}) as found`,
);

/**
 * Reads a card's postings that have one of the causes. Compares at most `maxExamined` lines of the card's statement for each
 * cause. A group of transfers cannot have that many at one time.
 */
export function readPostingsOfCauses(
  programId: string,
  cardId: string,
  causes: readonly PostingCause[],
  maxExamined: number,
): Statement {
  return READ_POSTINGS_OF_CAUSES({ sent: causes, programId, cardId, maxExamined });
}

export function toCausedPostings(found: readonly Row[]): readonly CausedPosting[] {
  const postings = found.map(POSTING.read);
  return [...new Map(postings.map((one) => [`${one.sourceAccountId} ${one.sourceSequence}`, one])).values()];
}
