import { toWire } from '../../domain/money.ts';
import {
  FIND_DIFFERING_ACCOUNTS,
  type KindSum,
  SUM_KINDS,
  toDifferingAccount,
  toKindSum,
} from '../store/trial-balance.ts';
import type { Reply } from './call.ts';
import type { Service } from './service.ts';
import { readRows } from './transaction.ts';

/** get_trial_balance: sums of all balances by currency and kind, and the accounts that differ from their postings. */
export async function getTrialBalance(service: Service): Promise<Reply> {
  const rows = await readRows(service.database, SUM_KINDS);
  const differing = (await readRows(service.database, FIND_DIFFERING_ACCOUNTS)).map(toDifferingAccount);
  const sums = rows.map(toKindSum);
  const currencies = [...new Set(sums.map((sum) => sum.currency))].map((currency) =>
    sumCurrency(
      currency,
      sums.filter((sum) => sum.currency === currency),
    ),
  );
  const trialBalance = {
    balanced: differing.length === 0 && currencies.every(({ sum }) => sum === 0),
    currencies,
    differing_accounts: differing.map((account) => ({
      account_id: account.accountId,
      balance: toWire(account.balance),
      postings: toWire(account.postings),
    })),
    drawn_up_at: ((rows[0]?.now as Date | undefined) ?? new Date()).toISOString(),
  };
  return { status: 200, body: JSON.stringify(trialBalance) };
}

function sumCurrency(currency: string, kinds: readonly KindSum[]) {
  return {
    currency,
    accounts: kinds.reduce((count, kind) => count + kind.accounts, 0),
    sum: toWire(kinds.reduce((sum, kind) => sum + kind.balance, 0n)),
    by_kind: kinds.map(({ kind, accounts, balance }) => ({ kind, accounts, balance: toWire(balance) })),
  };
}
