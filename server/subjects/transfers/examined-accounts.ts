import { type Account, LedgerViolation } from '../../../domain/ledger/ledger.ts';
import {
  addToDays,
  addToUsage,
  type Calendar,
  type Direction,
  type Usage,
  usageOf,
} from '../../../domain/ledger/limits.ts';
import { ChainBroken } from '../../commit/chain.ts';
import type { DecidedAccount, StoredAccount } from '../../store/ledger/account.ts';
import type { CountedDays, CounterChangeOf } from '../../store/ledger/limits.ts';
import type { Memory } from './memory.ts';

/** An account as the group found it, and as its decisions have left it. */
type Examined = {
  readonly before: StoredAccount;
  account: Account;
  isChanged: boolean;
  /** What was counted on it; null where that was not loaded. */
  days: CountedDays | null;
  /** The usage of the running periods, where a decision needed it. */
  readonly usage: { [Way in Direction]?: Usage };
  /** What the group adds to its counters, each day and direction once. */
  readonly counts: CounterChangeOf[];
};

/**
 * The accounts that the decisions of a group have read, refusals included. All of them have to be unchanged when a
 * group that has not locked them is saved.
 */
export class ExaminedAccounts {
  readonly #memory: Memory;
  readonly #examined = new Map<string, Examined>();

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** An account, as the decisions before this one have left it. */
  get(accountId: string): Account {
    return this.#examine(accountId).account;
  }

  /** Sets an account as a decision leaves it. */
  change(account: Account): void {
    const examined = this.#examine(account.accountId);
    examined.account = account;
    examined.isChanged = true;
  }

  /** Raises the version of an account, because something that belongs to it changes. */
  raiseVersion(accountId: string): void {
    this.#examine(accountId).isChanged = true;
  }

  /** What was used of the running periods, after the decisions before this one. */
  usage(accountId: string, direction: Direction, calendar: Calendar): Usage {
    const examined = this.#examine(accountId);
    // A limit was set on the program after the account was loaded.
    if (examined.days === null) throw new ChainBroken('the counters of an account are not known');
    const usage = examined.usage[direction] ?? usageOf(examined.days[direction], calendar);
    examined.usage[direction] = usage;
    return usage;
  }

  /** Counts a transfer on its day, or takes it back. */
  count(change: CounterChangeOf, calendar: Calendar): void {
    const { direction, dayStart, amount, count } = change;
    const examined = this.#examine(change.accountId);
    const { counts, usage } = examined;
    const index = counts.findIndex((one) => one.dayStart === dayStart && one.direction === direction);
    const before = counts[index];
    if (before === undefined) counts.push(change);
    else counts[index] = { ...change, amount: before.amount + amount, count: before.count + count };
    if (examined.days === null) return;
    examined.days = { ...examined.days, [direction]: addToDays(examined.days[direction], change) };
    if (usage[direction] !== undefined) usage[direction] = addToUsage(usage[direction], change, calendar);
  }

  /** The accounts that have changed, where the group has locked them. */
  changed(): readonly Account[] {
    const changed: Account[] = [];
    for (const { account, isChanged } of this.#examined.values()) if (isChanged) changed.push(account);
    return changed;
  }

  /** Every account that was read. All of them are written, with the next version. */
  decided(): readonly DecidedAccount[] {
    const decided: DecidedAccount[] = [];
    for (const { before, account } of this.#examined.values()) {
      decided.push({ before, after: { ...account, version: before.version + 1n } });
    }
    return decided;
  }

  /** What the group adds to counters. */
  counts(): readonly CounterChangeOf[] {
    const counts: CounterChangeOf[] = [];
    for (const examined of this.#examined.values()) counts.push(...examined.counts);
    return counts;
  }

  /** Remembers the accounts as they are written, for the next group. */
  handOn(decided: readonly DecidedAccount[]): void {
    for (const { after } of decided) this.#memory.keep(after, this.#examined.get(after.accountId)?.days ?? null);
    this.#memory.trim();
  }

  #examine(accountId: string): Examined {
    const known = this.#examined.get(accountId);
    if (known !== undefined) return known;
    const before = this.#memory.account(accountId);
    if (before === undefined) throw new LedgerViolation('a decision needs an account that the group has not loaded');
    const days = this.#memory.days(accountId);
    const examined = { before, account: before, isChanged: false, days, usage: {}, counts: [] };
    this.#examined.set(accountId, examined);
    return examined;
  }
}
