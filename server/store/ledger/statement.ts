import type { PostingPurpose } from '../../../domain/ledger/ledger.ts';
import type { Row, Statement } from '../connection/database.ts';

/** A card's statement over a time: amounts in minor units, lines by their numbers. */
export type CardStatement = {
  readonly cardName: string;
  readonly accountId: string;
  readonly currency: string;
  /** Number of the last line before the time; 0 for none. */
  readonly first: bigint;
  /** Number of the last line in it; the same as `first` where there is none. */
  readonly last: bigint;
  readonly openingBalance: bigint;
  readonly closingBalance: bigint;
};

/** A line of a card's statement: a posting as the card sees it. */
export type StatementLine = {
  readonly sequence: bigint;
  readonly purpose: PostingPurpose;
  readonly direction: 'in' | 'out';
  readonly amount: bigint;
  /** What was on the card after it. */
  readonly balance: bigint;
  readonly currency: string;
  /** Inner UUID; null where no transfer made the posting. */
  readonly transferId: string | null;
  readonly reversalId: string | null;
  readonly createdAt: Date;
};

/** The time that a statement is about: `from` is included, `to` is not; null where there is no bound. */
export type Period = { readonly from: Date | null; readonly to: Date | null };

/** A page of a statement: so many lines below a number, of a statement that ends with a number; null for no bound. */
export type StatementPageAsked = {
  readonly count: number;
  readonly upTo: bigint | null;
  readonly below: bigint | null;
};

/**
 * Lines of an account with numbers over `low` and up to `high`. Every posting gives the account the next number, so the
 * numbers have no gaps and a range of them is a page: two ranges of an index, and nothing that is read in vain.
 */
const linesOf = (account: string, low: string, high: string): string => `
  select line.sequence, line.direction, line.balance, line.purpose, line.amount, line.currency, line.created_at,
    case when line.purpose in ('load', 'unload', 'card_to_card') then line.cause_id else reversed.transfer_id end
      as transfer_id,
    case when line.purpose = 'reversal' then line.cause_id end as reversal_id
  from (
    select source_sequence as sequence, 'out' as direction, source_balance as balance, purpose, amount, currency,
      created_at, cause_id
    from posting
    where program_id = $1 and source_account_id = ${account}
      and source_sequence > ${low} and source_sequence <= ${high}
    union all
    select destination_sequence, 'in', destination_balance, purpose, amount, currency, created_at, cause_id
    from posting
    where program_id = $1 and destination_account_id = ${account}
      and destination_sequence > ${low} and destination_sequence <= ${high}
  ) as line
  left join lateral (
    select transfer_id from reversal
    where line.purpose = 'reversal' and reversal.program_id = $1 and reversal.reversal_id = line.cause_id limit 1
  ) as reversed on true`;

/** What was on an account after the line with a number; 0 before the first. */
const balanceAfter = (account: string, sequence: string): string => `coalesce(
    (select source_balance from posting where program_id = $1 and source_account_id = ${account}
      and source_sequence = ${sequence}),
    (select destination_balance from posting where program_id = $1 and destination_account_id = ${account}
      and destination_sequence = ${sequence}),
    0)`;

/**
 * Reads a page of a card's statement, newest line first, with its two balances. One statement sees one moment: lines
 * and balances agree, whatever is written meanwhile. No row where there is no such card; one without a line where there
 * is none.
 */
export function readStatement(
  programId: string,
  cardName: string,
  period: Period,
  { count, upTo, below }: StatementPageAsked,
): Statement {
  return {
    name: 'read_statement',
    text: `with named as materialized (
        select card.name, card.account_id, card.currency,
          case when $3::timestamptz is null then 0 else last_sequence_before($1, card.account_id, $3) end as first,
          least($5::bigint, case when $4::timestamptz is null then account.sequence
            else last_sequence_before($1, card.account_id, $4) end) as last
        from card cross join lateral (
          select sequence from account where account.program_id = $1 and account.account_id = card.account_id limit 1
        ) as account
        where card.program_id = $1 and card.name = $2
      ), ends as materialized (
        select name, account_id, currency, first, greatest(first, last) as last,
          greatest(first, least(last, $6::bigint - 1)) as top from named
      )
      select ends.name as card_name, ends.account_id, ends.currency as card_currency, ends.first, ends.last,
        ${balanceAfter('ends.account_id', 'ends.first')} as opening_balance,
        ${balanceAfter('ends.account_id', 'ends.last')} as closing_balance, line.*
      from ends left join lateral (
        ${linesOf('ends.account_id', 'greatest(ends.first, ends.top - $7::bigint)', 'ends.top')}
      ) as line on true
      order by line.sequence desc`,
    values: [programId, cardName, period.from, period.to, upTo, below, count],
  };
}

/** Reads lines of an account, oldest first: those with numbers over `low` and up to `high`. */
export function readStatementLines(programId: string, accountId: string, low: bigint, high: bigint): Statement {
  return {
    name: 'read_statement_lines',
    text: `${linesOf('$2', '$3::bigint', '$4::bigint')} order by line.sequence`,
    values: [programId, accountId, low, high],
  };
}

/** A statement from a row of {@link readStatement}; all of them say the same of it. */
export function toCardStatement(row: Row): CardStatement {
  return {
    cardName: row.card_name as string,
    accountId: row.account_id as string,
    currency: row.card_currency as string,
    first: row.first as bigint,
    last: row.last as bigint,
    openingBalance: row.opening_balance as bigint,
    closingBalance: row.closing_balance as bigint,
  };
}

/** The lines in rows of {@link readStatement} or {@link readStatementLines}. */
export function toStatementLines(rows: readonly Row[]): readonly StatementLine[] {
  return rows.filter((row) => row.sequence !== null).map(toStatementLine);
}

function toStatementLine(row: Row): StatementLine {
  return {
    sequence: row.sequence as bigint,
    purpose: row.purpose as PostingPurpose,
    direction: row.direction as 'in' | 'out',
    amount: row.amount as bigint,
    balance: row.balance as bigint,
    currency: row.currency as string,
    transferId: row.transfer_id as string | null,
    reversalId: row.reversal_id as string | null,
    createdAt: row.created_at as Date,
  };
}
