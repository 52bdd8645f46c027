import type { TrialBalance } from '../../../contract/programs.ts';
import { toWire, toWireSum } from '../../../domain/ledger/money.ts';
import { type Call, OperationFailure, type Reply, type Service } from '../../calls/call.ts';
import { readAsOf, refuseUnsettled } from '../../calls/fields.ts';
import { toOperationFailure } from '../../calls/read-rows.ts';
import type { Database, Row, Statement } from '../../store/connection/database.ts';
import { sumKindsAt, toClock, toKindSumsAt } from '../../store/ledger/balances-at.ts';
import {
  COUNT_DIFFERING_HOLDS,
  FIND_DIFFERING_ACCOUNTS,
  type KindSum,
  SUM_KINDS,
  toDifferingAccount,
  toKindSum,
} from '../../store/ledger/trial-balance.ts';

/** Time limit for each of the three reads of a trial balance. Together they must fit in the time of a request. */
const READ_MILLISECONDS = 1500;

/**
 * get_trial_balance: sums of all balances by currency and kind, and the accounts that differ from their postings. Comparing
 * the postings of a large ledger takes longer than a request. Then `postings_compared` is false, and "transfer-service
 * verify-books" compares them on the host without a time limit.
 *
 * At an instant in the past, balances are sums of postings, which takes one read of all postings. There is nothing to compare them
 * with.
 */
export async function getTrialBalance(
  { database }: Service,
  call: Call<'get_trial_balance'>,
): Promise<Reply<'get_trial_balance'>> {
  const before = readAsOf(call.query);
  if (before === undefined) return { record: await drawUpTrialBalance(database, READ_MILLISECONDS) };
  const rows = await survey(database, sumKindsAt(before), 3 * READ_MILLISECONDS);
  if (rows === undefined) {
    throw new OperationFailure('the postings could not be summed in time', { busy: true, moneyMoved: 'no' });
  }
  const now = toClock(rows);
  refuseUnsettled(call, now);
  const currencies = sumCurrencies(toKindSumsAt(rows));
  const record = {
    balanced: currencies.every(({ sum }) => sum === 0),
    postings_compared: false,
    currencies,
    differing_holds: 0,
    differing_accounts: [],
    drawn_up_at: new Date(now).toISOString(),
    as_of: new Date(before - 1).toISOString(),
  };
  return { record };
}

/** Computes the trial balance. Each of its three reads takes at most `timeoutMilliseconds`; 0 for no limit. */
export async function drawUpTrialBalance(database: Database, timeoutMilliseconds: number): Promise<TrialBalance> {
  const rows = await survey(database, SUM_KINDS, timeoutMilliseconds);
  if (rows === undefined) {
    throw new OperationFailure('the balances could not be summed in time', { busy: true, moneyMoved: 'no' });
  }
  const compared = await survey(database, FIND_DIFFERING_ACCOUNTS, timeoutMilliseconds);
  const held = await survey(database, COUNT_DIFFERING_HOLDS, timeoutMilliseconds);
  if (held === undefined) {
    throw new OperationFailure('the holds could not be summed in time', { busy: true, moneyMoved: 'no' });
  }
  const differingHolds = Number(held[0]?.accounts);
  const differing = (compared ?? []).map(toDifferingAccount);
  const sums = rows.map(toKindSum);
  const currencies = sumCurrencies(sums);
  return {
    balanced: differing.length === 0 && differingHolds === 0 && currencies.every(({ sum }) => sum === 0),
    postings_compared: compared !== undefined,
    currencies,
    differing_holds: differingHolds,
    differing_accounts: differing.map((account) => ({
      account_id: account.accountId,
      balance: toWire(account.balance),
      postings: toWireSum(account.postings),
    })),
    drawn_up_at: ((rows[0]?.now as Date | undefined) ?? new Date()).toISOString(),
    as_of: null,
  };
}

async function survey(
  database: Database,
  statement: Statement,
  timeoutMilliseconds: number,
): Promise<readonly Row[] | undefined> {
  try {
    return await database.survey(statement, timeoutMilliseconds);
  } catch (error) {
    throw toOperationFailure(error);
  }
}

function sumCurrencies(sums: readonly KindSum[]): TrialBalance['currencies'] {
  return [...new Set(sums.map((sum) => sum.currency))].map((currency) =>
    sumCurrency(
      currency,
      sums.filter((sum) => sum.currency === currency),
    ),
  );
}

function sumCurrency(currency: string, kinds: readonly KindSum[]) {
  return {
    currency,
    accounts: kinds.reduce((count, kind) => count + kind.accounts, 0),
    sum: toWireSum(kinds.reduce((sum, kind) => sum + kind.balance, 0n)),
    by_kind: kinds.map(({ kind, accounts, balance }) => ({ kind, accounts, balance: toWireSum(balance) })),
  };
}
