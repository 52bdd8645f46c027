import type { AccountKind, PostingPurpose } from './ledger.ts';

/** The kinds of account that a card program has once for each currency. All its other accounts are cards. */
export const PROGRAM_ACCOUNTS = ['world', 'funding', 'suspense', 'loss'] as const satisfies readonly AccountKind[];

export type ProgramAccount = (typeof PROGRAM_ACCOUNTS)[number];

/**
 * The purposes of postings, in the order in which a report lists them. Transfers between cards are left out, because they change
 * none of its sums.
 */
export const DAY_PURPOSES = ['deposit', 'withdrawal', 'load', 'unload', 'reversal', 'correction', 'opening'] as const;

/** An account of a card program over a day. Amounts are in minor units. */
export type AccountOfDay = {
  readonly currency: string;
  readonly kind: ProgramAccount;
  /** The balance before the first posting of the day, and after its last. */
  readonly opening: bigint;
  readonly closing: bigint;
  /** The day's postings of the account by purpose. */
  readonly moved: readonly MovedForPurpose[];
};

/** The change that the postings of one purpose have made to an account. */
export type MovedForPurpose = {
  readonly purpose: PostingPurpose;
  /** The amount that the account received minus the amount that it gave, in minor units. */
  readonly amount: bigint;
  /** Number of postings. A posting between two of these accounts is counted at only one of them. */
  readonly postings: number;
};

/** One line of a report: the balance of each kind of account, or its change. Amounts are in minor units. */
export type DayLine = {
  readonly funding: bigint;
  /** All cards, including those whose money is at a processor. */
  readonly cards: bigint;
  readonly suspense: bigint;
  readonly loss: bigint;
};

/** The report of a day in one currency. */
export type DayOfCurrency = {
  readonly currency: string;
  readonly opening: DayLine;
  readonly movements: readonly (DayLine & { readonly purpose: PostingPurpose; readonly postings: number })[];
  readonly closing: DayLine;
  /** Whether each of the program's accounts ends with its opening balance plus the day's postings. */
  readonly addsUp: boolean;
};

/**
 * Computes the report of a day from the accounts of the program, for each currency. A currency without any money on that day is
 * left out.
 */
export function drawUpDay(accounts: readonly AccountOfDay[]): readonly DayOfCurrency[] {
  const currencies = [...new Set(accounts.map(({ currency }) => currency))].sort();
  return currencies.map((currency) => ofCurrency(accounts, currency)).filter(hasMoney);
}

function ofCurrency(all: readonly AccountOfDay[], currency: string): DayOfCurrency {
  const accounts = all.filter((account) => account.currency === currency);
  const movements = DAY_PURPOSES.flatMap((purpose) => {
    const moved = accounts.map(({ kind, moved: of }) => [kind, of.find((one) => one.purpose === purpose)] as const);
    const postings = moved.reduce((sum, [, one]) => sum + (one?.postings ?? 0), 0);
    const line = lineOf(moved.map(([kind, one]) => [kind, one?.amount ?? 0n]));
    const isEmpty = postings === 0 && Object.values(line).every((value) => value === 0n);
    return isEmpty ? [] : [{ purpose, postings, ...line }];
  });
  return {
    currency,
    opening: lineOf(accounts.map(({ kind, opening }) => [kind, opening])),
    movements,
    closing: lineOf(accounts.map(({ kind, closing }) => [kind, closing])),
    addsUp: accounts.every(({ opening, moved, closing }) => {
      return moved.reduce((sum, { amount }) => sum + amount, opening) === closing;
    }),
  };
}

/** The accounts of a program sum to zero. So the amount of the cards is the negative sum of the other accounts. */
function lineOf(values: readonly (readonly [kind: ProgramAccount, value: bigint])[]): DayLine {
  const of = (kind: ProgramAccount): bigint => values.find(([known]) => known === kind)?.[1] ?? 0n;
  const cards = -values.reduce((sum, [, value]) => sum + value, 0n);
  return { funding: of('funding'), cards, suspense: of('suspense'), loss: of('loss') };
}

function hasMoney({ opening, movements }: DayOfCurrency): boolean {
  return movements.length > 0 || Object.values(opening).some((value) => value !== 0n);
}
