import type { PostingPurpose } from '../../../domain/ledger/ledger.ts';
import type { Row, Statement } from '../connection/database.ts';
import {
  BIGINT,
  CURRENCY,
  columns,
  DATE,
  NUMBER,
  nullable,
  type RowOf,
  rows,
  statement,
  TEXT,
  TIME,
  UUID,
  word,
} from '../sql.ts';

const STATEMENT = columns({
  cardName: TEXT,
  accountId: UUID,
  cardCurrency: CURRENCY,
  /** Number of the last line before the period, or 0 if there is none. */
  first: BIGINT,
  /** Number of the last line in the period. Equal to `first` if there is none. */
  last: BIGINT,
  openingBalance: BIGINT,
  closingBalance: BIGINT,
});

/** A card's statement over a period. Amounts are in minor units, and lines are given by their numbers. */
export type CardStatement = Omit<RowOf<typeof STATEMENT.columns>, 'cardCurrency'> & { readonly currency: string };

const LINE = columns({
  sequence: BIGINT,
  purpose: word<PostingPurpose>(),
  direction: word<'in' | 'out'>(),
  amount: BIGINT,
  /** The balance of the card after the line. */
  balance: BIGINT,
  currency: CURRENCY,
  /** Inner UUID, or null if no transfer caused the posting. */
  transferId: nullable(UUID),
  reversalId: nullable(UUID),
  createdAt: DATE,
  /** The description of the reversal if the line is a reversal, otherwise of the transfer. */
  description: nullable(TEXT),
  /** The reference of the transfer, even if the line is a reversal. */
  reference: nullable(TEXT),
});

export type StatementLine = RowOf<typeof LINE.columns>;

/** The period of a statement: `from` is inclusive, `to` is exclusive. Null means no bound. */
export type Period = { readonly from: Date | null; readonly to: Date | null };

/** A page of a statement: `count` lines below the number `below`, in a statement that ends at `upTo`. Null means no bound. */
export type StatementPageRequest = {
  readonly count: number;
  readonly upTo: bigint | null;
  readonly below: bigint | null;
};

/**
 * SQL: the lines of an account with numbers above `low` and up to `high`. Every posting gives the account the next number, so the
 * numbers have no gaps, and a range of numbers is a page. This takes two index ranges and reads no other rows.
 */
const linesOf = (account: string, low: string, high: string): string => `
  select line.sequence, line.direction, line.balance, line.purpose, line.amount, line.currency, line.created_at,
    case when booked.transfer_id is not null then booked.transfer_id
      when line.purpose in ('load', 'unload', 'card_to_card') then line.cause_id else reversed.transfer_id end as transfer_id,
    case when line.purpose = 'reversal' then line.cause_id end as reversal_id,
    case when line.purpose = 'reversal' then reversed.description else transfer.description end as description,
    transfer.reference
  from (
    select source_sequence as sequence, 'out' as direction, source_balance as balance, purpose, amount, currency,
      created_at, cause_id
    from posting
    where program_id = :programId and source_account_id = ${account}
      and source_sequence > ${low} and source_sequence <= ${high}
    union all
    select destination_sequence, 'in', destination_balance, purpose, amount, currency, created_at, cause_id
    from posting
    where program_id = :programId and destination_account_id = ${account}
      and destination_sequence > ${low} and destination_sequence <= ${high}
  ) as line
  left join lateral (
    select transfer_id, description from reversal
    where line.purpose = 'reversal' and reversal.program_id = :programId and reversal.reversal_id = line.cause_id limit 1
  ) as reversed on true
  -- The cause of the posting of a late approval or a correction is a break.
  left join lateral (
    select transfer_id from processor_break
    where line.purpose in ('load', 'unload', 'correction') and processor_break.program_id = :programId
      and processor_break.break_id = line.cause_id limit 1
  ) as booked on true
  left join lateral (
    select description, reference from transfer
    -- If this used coalesce, the planner would apply the policy of the table first, and would not use the index.
    where transfer.program_id = :programId
      and transfer.transfer_id = case when booked.transfer_id is not null then booked.transfer_id
        when line.purpose = 'reversal' then reversed.transfer_id else line.cause_id end
    limit 1
  ) as transfer on true`;

/** SQL: the balance of an account after the line with a given number, or 0 before the first line. */
export const balanceAfter = (account: string, sequence: string): string => `coalesce(
    (select source_balance from posting where program_id = :programId and source_account_id = ${account}
      and source_sequence = ${sequence}),
    (select destination_balance from posting where program_id = :programId and destination_account_id = ${account}
      and destination_sequence = ${sequence}),
    0)`;

const READ_STATEMENT = statement(
  'read_statement',
  {
    programId: UUID,
    cardName: TEXT,
    from: nullable(DATE),
    to: nullable(DATE),
    upTo: nullable(BIGINT),
    below: nullable(BIGINT),
    count: NUMBER,
  },
  `with named as materialized (
      select card.name, card.account_id, card.currency,
        case when :from::timestamptz is null then 0 else last_sequence_before(:programId, card.account_id, :from) end as first,
        least(:upTo::bigint, case when :to::timestamptz is null then account.sequence
          else last_sequence_before(:programId, card.account_id, :to) end) as last
      from card cross join lateral (
        select sequence from account where account.program_id = :programId and account.account_id = card.account_id limit 1
      ) as account
      where card.program_id = :programId and card.name = :cardName
    ), ends as materialized (
      select name, account_id, currency, first, greatest(first, last) as last,
        greatest(first, least(last, :below::bigint - 1)) as top from named
    )
    select ends.name as card_name, ends.account_id, ends.currency as card_currency, ends.first, ends.last,
      ${balanceAfter('ends.account_id', 'ends.first')} as opening_balance,
      ${balanceAfter('ends.account_id', 'ends.last')} as closing_balance, line.*
    from ends left join lateral (
      ${linesOf('ends.account_id', 'greatest(ends.first, ends.top - :count::bigint)', 'ends.top')}
    ) as line on true
    order by line.sequence desc`,
);

/**
 * Reads a page of a card's statement, newest line first, with its two balances. It is one statement, which sees the data of one
 * moment, so lines and balances agree even during writes. Returns no row if the card does not exist, and one row without a line if
 * it has no lines.
 */
export function readStatement(
  programId: string,
  cardName: string,
  period: Period,
  page: StatementPageRequest,
): Statement {
  return READ_STATEMENT({ programId, cardName, ...period, ...page });
}

const READ_STATEMENT_LINES = statement(
  'read_statement_lines',
  { programId: UUID, accountId: UUID, low: BIGINT, high: BIGINT },
  `${linesOf(':accountId', ':low::bigint', ':high::bigint')} order by line.sequence`,
);

export function readStatementLines(programId: string, accountId: string, low: bigint, high: bigint): Statement {
  return READ_STATEMENT_LINES({ programId, accountId, low, high });
}

/** Returns the statement from any row of {@link readStatement}. */
export function toCardStatement(row: Row): CardStatement {
  const { cardCurrency: currency, ...rest } = STATEMENT.read(row);
  return { ...rest, currency };
}

export function toStatementLines(rows: readonly Row[]): readonly StatementLine[] {
  return rows.filter((row) => row.sequence !== null).map(LINE.read);
}

/** The cause of a posting (the inner UUID of a transfer or a reversal) and its time. Postings have no index by cause. */
const CAUSE = columns({ causeId: UUID, moment: DATE });

type PostingCause = ReturnType<typeof CAUSE.read>;

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
