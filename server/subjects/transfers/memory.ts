import type { Card } from '../../../domain/cards/card.ts';
import { ChainBroken, DEPTH } from '../../commit/chain.ts';
import type { LoadedCard } from '../../store/card.ts';
import type { StoredAccount } from '../../store/ledger/account.ts';
import type { CountedDays } from '../../store/ledger/limits.ts';
import { CommittedCards } from './committed-cards.ts';

/** An account, what was counted on it (null where that was not loaded), and the name of its card if it is a card's. */
type KnownAccount = {
  readonly account: StoredAccount;
  readonly days: CountedDays | null;
  readonly cardName: string | null;
  /** The group that has learned or changed it. */
  readonly group: number;
};

/** Clocks are corrected by less, and counters are read for some days more than any period has. */
const MAX_BACKWARDS = 24 * 60 * 60 * 1000;

/** Number of accounts that are remembered as objects, about 15 MB; cards beyond it become {@link CommittedCards}. */
const MAX_ACCOUNTS = 10_000;

/**
 * Cards, accounts and counters as the last group of transfers has left them, so that the next one decides on them without
 * reading them again. What is remembered may be out of date, because another process or operation has changed it. That is
 * noticed when a group is saved: the stored version of each account that it looked at must be the one that is remembered.
 */
export class Memory {
  readonly #committed: CommittedCards;
  readonly #maxAccounts: number;
  #group = 0;
  /** In the order in which they were last learned or changed. */
  readonly #accounts = new Map<string, KnownAccount>();
  /** By program, then by name. */
  readonly #cards = new Map<string, Map<string, Card>>();

  /**
   * @param committed what earlier chains have left; none by default.
   * @param maxAccounts number of accounts that are remembered as objects.
   */
  constructor(committed: CommittedCards = new CommittedCards(0), maxAccounts: number = MAX_ACCOUNTS) {
    this.#committed = committed;
    this.#maxAccounts = maxAccounts;
  }

  /** Begins a group, which may rest on those before it. */
  beginGroup(): void {
    this.#group += 1;
  }

  /**
   * Takes the time of a group, in milliseconds since 1970. Throws {@link ChainBroken} if the clock of a sandbox was moved back:
   * the days that are counted then may be before those that were read.
   */
  noteTime(now: number): void {
    const { latest } = this.#committed;
    if (now < latest - MAX_BACKWARDS) throw new ChainBroken('the clock was moved back');
    this.#committed.latest = Math.max(latest, now);
  }

  card(programId: string, name: string): Card | undefined {
    return this.#cards.get(programId)?.get(name);
  }

  /** Whether everything about a card is known that a decision needs. */
  knows(programId: string, name: string, withFunding: boolean): boolean {
    const card = this.card(programId, name) ?? this.#recall(programId, name);
    if (card === undefined || !this.#accounts.has(card.accountId)) return false;
    return !withFunding || this.#accounts.has(card.fundingAccountId);
  }

  account(accountId: string): StoredAccount | undefined {
    return this.#accounts.get(accountId)?.account;
  }

  /** What was counted on an account; null where that is not known. */
  days(accountId: string): CountedDays | null {
    return this.#accounts.get(accountId)?.days ?? null;
  }

  /**
   * Adds what was loaded: the accounts, then their cards, which were read later. What is known of the same version stays: it
   * has the changes of groups that are being saved.
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

  /** Sets what was counted on an account that has just been learned. */
  learnDays(accountId: string, days: CountedDays | null): void {
    const known = this.#accounts.get(accountId);
    if (known !== undefined && days !== null) this.#set({ ...known, days });
  }

  /** Remembers an account as a group is going to store it. */
  keep(account: StoredAccount, days: CountedDays | null): void {
    const { accountId } = account;
    const cardName = this.#accounts.get(accountId)?.cardName ?? null;
    // Deleted first, so that it becomes the last in the order of the map.
    this.#accounts.delete(accountId);
    this.#set({ account, days, cardName });
  }

  /**
   * Beyond the maximum, moves the cards that were changed least recently to those that outlive the chain, as far as the group
   * that changed them is certainly committed. Other accounts are forgotten.
   */
  trim(): void {
    for (const [accountId, { account, days, cardName, group }] of this.#accounts) {
      if (this.#accounts.size <= this.#maxAccounts || group > this.#group - DEPTH) return;
      this.#accounts.delete(accountId);
      const cards = this.#cards.get(account.programId);
      const card = cardName === null ? undefined : cards?.get(cardName);
      if (card === undefined) continue;
      cards?.delete(card.name);
      this.#committed.put({ card, account, days });
    }
  }

  /**
   * Takes {@link Database.interruptions} when a group has been loaded. Throws {@link ChainBroken} if the server may be another one
   * since: after a failover it may lack what is remembered, and give the same versions to other states.
   */
  noteServer(interruptions: number): void {
    this.#committed.interruptions ??= interruptions;
    if (this.#committed.interruptions !== interruptions) throw new ChainBroken('connections were lost');
  }

  /** A card that an earlier group has left. */
  #recall(programId: string, name: string): Card | undefined {
    const known = this.#committed.take(programId, name);
    if (known === undefined) return undefined;
    const { card, account, days } = known;
    // The account was loaded since, for a change of a transfer.
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
