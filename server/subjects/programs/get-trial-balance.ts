import type { TrialBalance } from '../../../contract/programs.ts';
import { toWire, toWireSum } from '../../../domain/ledger/money.ts';
import { type Call, OperationFailure, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readAsOf, refuseUnsettled } from '../../calls/fields.ts';
import { surveyRows } from '../../calls/read-rows.ts';
import type { Database } from '../../store/connection/database.ts';
import {
  COUNT_DIFFERING_HOLDS,
  FIND_DIFFERING_ACCOUNTS,
  type KindSum,
  SUM_KINDS,
  sumKindsAt,
  toClock,
  toDifferingAccount,
  toKindSum,
  toKindSumsAt,
} from '../../store/ledger/trial-balance.ts';

/** Time limit for each of the three reads of a trial balance. Together they must fit in the time of a request. */
const READ_MILLISECONDS = 1500;

/** Time limit for a trial balance at a past time, which takes a single read. */
const SUM_MILLISECONDS = 3 * READ_MILLISECONDS;

/** Advice for ledgers that may have too many accounts for a request. */
const ON_THE_HOST =
  'Try again when the service is under less load, or run "transfer-service verify-books" on the host, which has no time limit.';

/**
 * get_trial_balance: returns the sums of all balances by currency and kind, and the accounts that differ from their postings. For
 * a large ledger, comparing the postings takes longer than a request may take. In that case, `postings_compared` is false, and
 * "transfer-service verify-books" compares them on the host without a time limit.
 *
 * For a past time, the balances are sums of postings. This takes one read of all postings, and leaves nothing to compare the sums
 * with.
 */
export async function getTrialBalance(
  { database }: Service,
  call: Call<'get_trial_balance'>,
): Promise<Reply<'get_trial_balance'>> {
  const before = readAsOf(call.query);
  if (before === undefined) return { record: await drawUpTrialBalance(database, READ_MILLISECONDS) };
  const rows = await surveyRows(database, sumKindsAt(before), SUM_MILLISECONDS);
  if (rows === undefined) {
    // Not a 503, because clients would repeat the service's longest read without success: the number of postings only grows.
    const message =
      `The ledger has too many postings to sum within the ${SUM_MILLISECONDS / 1000} seconds that a request may take. Sum the exported ` +
      "statements (export_postings) instead, or read single balances with 'as_of' of get_card and get_program.";
    throw schemaRefusal(call, message, '/as_of');
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

/** Computes the trial balance. Each of its three reads takes at most `timeoutMilliseconds`. Use 0 for no limit. */
export async function drawUpTrialBalance(database: Database, timeoutMilliseconds: number): Promise<TrialBalance> {
  const rows = await surveyRows(database, SUM_KINDS, timeoutMilliseconds);
  if (rows === undefined) {
    throw tooSlow('The balances of all accounts could not be summed in time.');
  }
  const compared = await surveyRows(database, FIND_DIFFERING_ACCOUNTS, timeoutMilliseconds);
  const held = await surveyRows(database, COUNT_DIFFERING_HOLDS, timeoutMilliseconds);
  if (held === undefined) {
    throw tooSlow('The holds of all accounts could not be summed in time.');
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

function tooSlow(problem: string): OperationFailure {
  return new OperationFailure(problem, { busy: true, moneyMoved: 'no', advice: ON_THE_HOST });
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
