import type { Row, Statement } from '../connection/database.ts';
import { BIGINT, columns, NUMBER, type RowOf, SUM, TEXT, UUID } from '../sql.ts';

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
