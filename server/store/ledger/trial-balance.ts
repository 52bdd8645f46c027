import type { Row, Statement } from '../connection/database.ts';
import { BIGINT, CURRENCY, columns, NUMBER, type RowOf, SUM, statement, TEXT, TIME, UUID } from '../sql.ts';
import { balanceAfter } from './statement.ts';

const KIND_SUM = columns({ currency: TEXT, kind: TEXT, accounts: NUMBER, balance: SUM });
const DIFFERING_ACCOUNT = columns({ accountId: UUID, balance: BIGINT, postings: SUM });

/** The sum of one kind of account in one currency, in minor units. */
export type KindSum = RowOf<typeof KIND_SUM.columns>;

/** An account whose balance is not the sum of its postings, or whose sequence is not the number of its postings. */
export type DifferingAccount = RowOf<typeof DIFFERING_ACCOUNT.columns>;

/** Sums balances by currency and kind, in one snapshot. */
export const SUM_KINDS: Statement = {
  name: 'sum_kinds',
  text: `select currency, kind, count(*) as accounts, sum(balance) as balance, service_now() as now
    from account group by currency, kind order by currency, kind`,
  values: [],
};

/** Finds at most 100 accounts that differ from their postings, in one snapshot. */
export const FIND_DIFFERING_ACCOUNTS: Statement = {
  name: 'find_differing_accounts',
  text: `with moved as (
      select program_id, account_id, sum(amount) as amount, count(*) as postings from (
        select program_id, destination_account_id as account_id, amount from posting
        union all
        select program_id, source_account_id, -amount from posting
      ) as sides group by program_id, account_id
    )
    select account_id, account.balance, coalesce(moved.amount, 0) as postings
    from account left join moved using (program_id, account_id)
    where account.balance <> coalesce(moved.amount, 0) or account.sequence <> coalesce(moved.postings, 0)
    limit 100`,
  values: [],
};

/** Counts, as `accounts`, the accounts whose `held` or `incoming` differs from the sum of the open holds, in one snapshot. */
export const COUNT_DIFFERING_HOLDS: Statement = {
  name: 'count_differing_holds',
  text: `with open as (
      select program_id, account_id, sum(held) as held, sum(incoming) as incoming from (
        select program_id, source_account_id as account_id, amount as held, 0 as incoming from hold
        union all
        select program_id, destination_account_id, 0, amount from hold
      ) as sides group by program_id, account_id
    )
    select count(*) as accounts from account left join open using (program_id, account_id)
    where account.held <> coalesce(open.held, 0) or account.incoming <> coalesce(open.incoming, 0)`,
  values: [],
};

export function toKindSum(row: Row): KindSum {
  return KIND_SUM.read(row);
}

export function toDifferingAccount(row: Row): DifferingAccount {
  return DIFFERING_ACCOUNT.read(row);
}

// Computes balances at an instant from postings. The times of an account's postings never go back, and every posting has the
// account's next number and the balance after it. So the balance is in one posting, which is found by bisection in two unique
// indexes.

const BALANCE = columns({ currency: CURRENCY, balance: BIGINT });

/** The balance of an account at a given time, in minor units. */
type BalanceAt = RowOf<typeof BALANCE.columns>;

/** SQL: rows with the clock and the balance of one of the `accounts`. If there are none, one row without a balance. */
const balancesAt = (accounts: string): string => `with found as materialized (
      select account_id, currency, last_sequence_before(:programId, account_id, :before) as last from (${accounts}) as wanted
    )
    select (extract(epoch from service_now()) * 1000)::bigint as now, found.currency,
      case when found.account_id is not null then ${balanceAfter('found.account_id', 'found.last')} end as balance
    from (select) as always left join found on true`;

const READ_CARD_AT = statement(
  'read_card_at',
  { programId: UUID, name: TEXT, before: TIME },
  balancesAt('select account_id, currency from card where program_id = :programId and name = :name'),
);

/** Reads the clock, and the balance of a card just before a time, in milliseconds since 1970. */
export function readCardAt(programId: string, name: string, before: number): Statement {
  return READ_CARD_AT({ programId, name, before });
}

const READ_FUNDING_AT = statement(
  'read_funding_at',
  { programId: UUID, before: TIME },
  balancesAt("select account_id, currency from account where owner_id = :programId and kind = 'funding'"),
);

/** Reads the clock, and the balances of a program's funding accounts just before a time. */
export function readFundingAt(programId: string, before: number): Statement {
  return READ_FUNDING_AT({ programId, before });
}

export function toBalancesAt(rows: readonly Row[]): readonly BalanceAt[] {
  return rows.filter(({ balance }) => balance !== null).map(BALANCE.read);
}

const CLOCK = columns({ now: NUMBER });

/** Returns the time of the statement by the service's clock, in milliseconds since 1970. */
export function toClock([row]: readonly Row[]): number {
  if (row === undefined) throw new Error('the statement returned no clock');
  return CLOCK.read(row).now;
}

const SUM_KINDS_AT = statement(
  'sum_kinds_at',
  { before: TIME },
  // An account can be slightly younger than its first posting, because each decision reads the clock once, before it writes.
  // Postings are first grouped by their two accounts, because most pairs of accounts have many postings.
  `with pair as materialized (
      select source_account_id, destination_account_id, sum(amount) as amount
      from posting where created_at < :before group by source_account_id, destination_account_id
    ), moved as (
      select account_id, sum(amount) as amount from (
        select destination_account_id as account_id, amount from pair
        union all
        select source_account_id, -amount from pair
      ) as side group by account_id
    ), sums as (
      select account.currency, account.kind, count(*) as accounts, coalesce(sum(moved.amount), 0) as balance
      from account left join moved on moved.account_id = account.account_id
      where account.created_at < :before or moved.account_id is not null
      group by account.currency, account.kind
    )
    select (extract(epoch from service_now()) * 1000)::bigint as now, sums.*
    from (select) as always left join sums on true order by currency, kind`,
);

/** Reads the clock, and sums all postings before a time by currency and kind of account, in one snapshot. */
export function sumKindsAt(before: number): Statement {
  return SUM_KINDS_AT({ before });
}

export function toKindSumsAt(rows: readonly Row[]): readonly KindSum[] {
  return rows.filter(({ kind }) => kind !== null).map(toKindSum);
}
