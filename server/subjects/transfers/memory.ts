import type { Card } from '../../../domain/cards/card.ts';
import { ChainBroken, DEPTH } from '../../commit/chain.ts';
import type { LoadedCard } from '../../store/card.ts';
import type { StoredAccount } from '../../store/ledger/account.ts';
import type { CountedDays } from '../../store/ledger/limits.ts';
import { CommittedCards } from './committed-cards.ts';

/** An account, its counters (null if they were not loaded), and the name of its card, if it has one. */
type KnownAccount = {
  readonly account: StoredAccount;
  readonly days: CountedDays | null;
  readonly cardName: string | null;
  /** The number of groups that had written when the account was last loaded or changed. */
  readonly group: number;
};

/** How far the time may go back, in milliseconds. Clock corrections are smaller, and the loaded counters cover a few more days. */
const MAX_BACKWARDS_MILLISECONDS = 24 * 60 * 60 * 1000;

/** Maximum number of accounts that are kept as objects, about 15 MB. When there are more, cards move to {@link CommittedCards}. */
const MAX_ACCOUNTS = 10_000;

/**
 * A cache of the cards, accounts and counters after the last group of transfers, so that the next group does not have to read
 * them. Another process or operation may have changed them in the meantime. This is detected when a group is saved: the stored
 * version of each account that the group has read must equal the cached version.
 */
export class Memory {
  readonly #committed: CommittedCards;
  readonly #maxAccounts: number;
  #group = 0;
  /** Ordered by the time of the last load or change. */
  readonly #accounts = new Map<string, KnownAccount>();
  /** By program, then by name. */
  readonly #cards = new Map<string, Map<string, Card>>();

  /**
   * @param committed cards from earlier chains. By default there are none.
   * @param maxAccounts maximum number of accounts that are kept as objects.
   */
  constructor(committed: CommittedCards = new CommittedCards(0), maxAccounts: number = MAX_ACCOUNTS) {
    this.#committed = committed;
    this.#maxAccounts = maxAccounts;
  }

  /**
   * Begins a group that will write. Groups that write nothing do not count. They do not wait for earlier groups, so any number of
   * them may end while others are in flight.
   */
  beginGroup(): void {
    this.#group += 1;
  }

  /**
   * Notes the time of a group, in milliseconds since 1970. Throws {@link ChainBroken} if a sandbox's clock was moved back,
   * because the group may then need counters of days before the loaded ones.
   */
  noteTime(now: number): void {
    const { latest } = this.#committed;
    if (now < latest - MAX_BACKWARDS_MILLISECONDS) throw new ChainBroken('the clock was moved back');
    this.#committed.latest = Math.max(latest, now);
  }

  card(programId: string, name: string): Card | undefined {
    return this.#cards.get(programId)?.get(name);
  }

  /** Returns whether everything that a decision about a card needs is in memory. */
  knows(programId: string, name: string, withFunding: boolean): boolean {
    const card = this.card(programId, name) ?? this.#recall(programId, name);
    if (card === undefined || !this.#accounts.has(card.accountId)) return false;
    return !withFunding || this.#accounts.has(card.fundingAccountId);
  }

  account(accountId: string): StoredAccount | undefined {
    return this.#accounts.get(accountId)?.account;
  }

  days(accountId: string): CountedDays | null {
    return this.#accounts.get(accountId)?.days ?? null;
  }

  /**
   * Adds loaded data: the accounts, then their cards, which were read later. If an account is already cached in the same or a later
   * version, it stays unchanged, with the changes of groups that are being saved. Returns the ids of the added accounts.
   */
  learn(accounts: readonly StoredAccount[], cards: readonly LoadedCard[]): ReadonlySet<string> {
    const learned = new Set<string>();
    for (const account of accounts) {
      const known = this.#accounts.get(account.accountId);
      if (known !== undefined && known.account.version >= account.version) continue;
      this.#set({ account, days: null, cardName: known?.cardName ?? null });
      learned.add(account.accountId);
    }
    for (const { card, days } of cards) {
      const { programId, name: cardName, accountId } = card;
      const isNew = learned.has(accountId);
      if (!isNew && this.card(programId, cardName) !== undefined) continue;
      this.#committed.forget(programId, cardName);
      this.#cardsOf(programId).set(cardName, card);
      const known = this.#accounts.get(accountId);
      if (known !== undefined) this.#set({ ...known, days: isNew ? days : known.days, cardName });
    }
    return learned;
  }

  learnDays(accountId: string, days: CountedDays | null): void {
    const known = this.#accounts.get(accountId);
    if (known !== undefined && days !== null) this.#set({ ...known, days });
  }

  /** Keeps an account in the state that a group is about to store. */
  keep(account: StoredAccount, days: CountedDays | null): void {
    const { accountId } = account;
    const cardName = this.#accounts.get(accountId)?.cardName ?? null;
    // Deleting the account first moves it to the end of the map.
    this.#accounts.delete(accountId);
    this.#set({ account, days, cardName });
  }

  /**
   * Removes the accounts with the oldest load or change while there are too many. Cards move to {@link CommittedCards}, which
   * outlive the chain. Stops at the first account whose last group may not be committed yet. The groups in flight are among the
   * last {@link DEPTH} that write.
   */
  trim(): void {
    for (const [accountId, { account, days, cardName, group }] of this.#accounts) {
      if (this.#accounts.size <= this.#maxAccounts || group > this.#group - DEPTH) return;
      this.#accounts.delete(accountId);
      const cards = this.#cards.get(account.programId);
      const card = cardName === null ? undefined : cards?.get(cardName);
      if (card === undefined) continue;
      cards?.delete(card.name);
      // Only cards whose money is in this ledger are packed.
      if (card.connectorId === null) this.#committed.put({ card, account, days });
    }
  }

  /**
   * Notes {@link Database.interruptions}, once before a group is loaded and once when it is decided. If the number changes, the
   * group may have read from a server that was then replaced. Throws {@link ChainBroken} if the database server may have changed:
   * after a failover, it may lack cached changes, and have different states with the same versions.
   */
  noteServer(interruptions: number): void {
    this.#committed.interruptions ??= interruptions;
    if (this.#committed.interruptions !== interruptions) throw new ChainBroken('connections were lost');
  }

  /** Takes a card back from {@link CommittedCards}. */
  #recall(programId: string, name: string): Card | undefined {
    const known = this.#committed.take(programId, name);
    if (known === undefined) return undefined;
    const { card, account, days } = known;
    // The account was loaded after the card was packed, for a change of a transfer. So the packed card may be older.
    if (this.#accounts.has(card.accountId)) return undefined;
    this.#set({ account, days, cardName: name });
    this.#cardsOf(programId).set(name, card);
    return card;
  }

  #set(known: Omit<KnownAccount, 'group'>): void {
    this.#accounts.set(known.account.accountId, { ...known, group: this.#group });
  }

  #cardsOf(programId: string): Map<string, Card> {
    const cards = this.#cards.get(programId) ?? new Map<string, Card>();
    this.#cards.set(programId, cards);
    return cards;
  }
}
