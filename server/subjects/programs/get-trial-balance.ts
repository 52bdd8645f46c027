import type { TrialBalance } from '../../../contract/programs.ts';
import { toWire, toWireSum } from '../../../domain/ledger/money.ts';
import { OperationFailure, type Reply, type Service } from '../../calls/call.ts';
import { toOperationFailure } from '../../calls/read-rows.ts';
import type { Database, Row, Statement } from '../../store/connection/database.ts';
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
 */
export async function getTrialBalance(service: Service): Promise<Reply<'get_trial_balance'>> {
  return { record: await drawUpTrialBalance(service.database, READ_MILLISECONDS) };
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
  const currencies = [...new Set(sums.map((sum) => sum.currency))].map((currency) =>
    sumCurrency(
      currency,
      sums.filter((sum) => sum.currency === currency),
    ),
  );
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

function sumCurrency(currency: string, kinds: readonly KindSum[]) {
  return {
    currency,
    accounts: kinds.reduce((count, kind) => count + kind.accounts, 0),
    sum: toWireSum(kinds.reduce((sum, kind) => sum + kind.balance, 0n)),
    by_kind: kinds.map(({ kind, accounts, balance }) => ({ kind, accounts, balance: toWireSum(balance) })),
  };
}
