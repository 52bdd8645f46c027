import type { Account, Posted } from '../../../domain/ledger/ledger.ts';
import type { Row, Statement } from '../../store/connection/database.ts';
import { type CausedPosting, insertPostings, toAccount, updateAccounts } from '../../store/ledger/account.ts';

/** The locked accounts of a move-in and their postings, while its lines are added or undone one after the other. */
export class LockedAccounts {
  readonly postings: CausedPosting[] = [];
  readonly #accounts: Map<string, Account>;
  /** The ids of the funding and world accounts, by kind and currency. */
  readonly #ofProgram: ReadonlyMap<string, string>;
  readonly #changed = new Set<string>();
  readonly #added = new Set<string>();

  constructor(rows: readonly Row[]) {
    const accounts = rows.map((row) => toAccount(row));
    this.#accounts = new Map(accounts.map((account) => [account.accountId, account]));
    this.#ofProgram = new Map(accounts.map(({ kind, currency, accountId }) => [`${kind} ${currency}`, accountId]));
  }

  has(accountId: string): boolean {
    return this.#accounts.has(accountId);
  }

  get(accountId: string): Account {
    const account = this.#accounts.get(accountId);
    if (account === undefined) throw new Error('a line of a move-in needs an account that was not locked');
    return account;
  }

  /** Returns the program's account of this kind. */
  ofProgram(kind: 'funding' | 'world', currency: string): Account {
    const accountId = this.#ofProgram.get(`${kind} ${currency}`);
    if (accountId === undefined) throw new Error('the funding accounts of a move-in do not exist');
    return this.get(accountId);
  }

  /** Adds the account of a new card. The caller inserts it in its last state. */
  add(account: Account): void {
    this.#accounts.set(account.accountId, account);
    this.#added.add(account.accountId);
  }

  change(account: Account): void {
    this.#accounts.set(account.accountId, account);
    this.#changed.add(account.accountId);
  }

  /** Makes a posting whose cause is a card. */
  post({ posting, source, destination }: Posted, { programId, cardId: causeId }: CardOfPosting): void {
    this.postings.push({ programId, causeId, ...posting });
    this.change(source);
    this.change(destination);
  }

  /** Returns the writes of all postings, and of all changed accounts that were not added. */
  writes(now: number): readonly Statement[] {
    const changed = [...this.#changed]
      .filter((accountId) => !this.#added.has(accountId))
      .map((accountId) => this.get(accountId));
    return [
      ...(this.postings.length === 0 ? [] : [insertPostings(this.postings, now)]),
      ...(changed.length === 0 ? [] : [updateAccounts(changed)]),
    ];
  }
}

type CardOfPosting = { readonly programId: string; readonly cardId: string };
