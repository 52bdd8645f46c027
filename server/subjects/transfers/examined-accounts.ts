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

/** An account as it was before the group, and as it is after the group's decisions so far. */
type Examined = {
  readonly before: StoredAccount;
  account: Account;
  isChanged: boolean;
  /** The account's counters, or null if they were not loaded. */
  days: CountedDays | null;
  /** The usage of the current periods, set once a decision needs it. */
  readonly usage: { [Way in Direction]?: Usage };
  /** The group's additions to the counters, one entry for each day and direction. */
  readonly counts: CounterChangeOf[];
};

/**
 * The accounts that the decisions of a group have read, including decisions to refuse. If the group has not locked them, all of
 * them must still be unchanged when the group is saved.
 */
export class ExaminedAccounts {
  readonly #memory: Memory;
  readonly #examined = new Map<string, Examined>();

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Returns an account after the decisions so far. */
  get(accountId: string): Account {
    return this.#examine(accountId).account;
  }

  /** Sets the state of an account after a decision. */
  change(account: Account): void {
    const examined = this.#examine(account.accountId);
    examined.account = account;
    examined.isChanged = true;
  }

  /** Raises the version of an account, because data that belongs to it has changed. */
  raiseVersion(accountId: string): void {
    this.#examine(accountId).isChanged = true;
  }

  /** Returns the usage of the current periods, after the decisions so far. */
  usage(accountId: string, direction: Direction, calendar: Calendar): Usage {
    const examined = this.#examine(accountId);
    // The program got a limit after the account was loaded.
    if (examined.days === null) throw new ChainBroken('the counters of an account are not known');
    const usage = examined.usage[direction] ?? usageOf(examined.days[direction], calendar);
    examined.usage[direction] = usage;
    return usage;
  }

  /** Adds a transfer to the counters of its day, or subtracts it. */
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

  /** Returns the changed accounts. A group that has locked its accounts writes them. */
  changed(): readonly Account[] {
    const changed: Account[] = [];
    for (const { account, isChanged } of this.#examined.values()) if (isChanged) changed.push(account);
    return changed;
  }

  /** Returns every account that was read, with its next version. A group that has not locked its accounts writes them. */
  decided(): readonly DecidedAccount[] {
    const decided: DecidedAccount[] = [];
    for (const { before, account } of this.#examined.values()) {
      decided.push({ before, after: { ...account, version: before.version + 1n } });
    }
    return decided;
  }

  counts(): readonly CounterChangeOf[] {
    const counts: CounterChangeOf[] = [];
    for (const examined of this.#examined.values()) counts.push(...examined.counts);
    return counts;
  }

  /** Passes the accounts in their written state to the next group. */
  handOn(decided: readonly DecidedAccount[]): void {
    this.#memory.beginGroup();
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
