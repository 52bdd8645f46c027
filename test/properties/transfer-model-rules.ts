import type { CardStatus } from '../../domain/cards/card.ts';
import type { TransferType } from '../../domain/transfers/transfer.ts';
import {
  type Direction,
  destinationOf,
  type ModelBooks,
  type Route,
  type StandingLimit,
  sourceOf,
} from './transfer-model-books.ts';
import type { AskedTransfer, Refused, Switching } from './transfer-steps.ts';

/** The states of a card that let money in and out, and the codes that are not named like the state. */
const LETS_IN: readonly CardStatus[] = ['active'];
const LETS_OUT: readonly CardStatus[] = ['active', 'lost', 'stolen', 'expired'];
const CODES: Partial<Record<CardStatus, string>> = {
  preactive: 'card_not_activated',
  inactive: 'card_suspended',
  stolen: 'card_lost',
  fraud: 'card_suspected_fraud',
};

/** The largest amount of a transfer and the largest balance, in minor units. */
export const LARGEST_AMOUNT = 999_999_999_999n;
export const LARGEST_BALANCE = 2n ** 53n - 1n;

/** A day as holds and schedules count it. */
export const DAY = 24 * 60 * 60 * 1000;

const WHOSE = {
  card: 'set on the card',
  program_card: 'set by the card program for each card',
  program: 'set for the card program as a whole',
} as const;

/** A response no. */
export const no = (code: string, about: string | null = null): Refused => ({ code, about });

/** Why something is not done: the rules, in the order in which they are answered. */
export class ModelRules {
  readonly books: ModelBooks;
  switches: readonly Switching[] = [];

  constructor(books: ModelBooks) {
    this.books = books;
  }

  refuseTimes({ scheduledFor, expiresAt }: AskedTransfer): Refused | null {
    const { now } = this.books;
    const wrong = (field: string): Refused => no('create_transfer_schema', `'${field}' is `);
    if (scheduledFor !== null && (scheduledFor <= now || scheduledFor > now + 366 * DAY)) return wrong('scheduled_for');
    const start = scheduledFor ?? now;
    if (expiresAt !== null && (expiresAt <= start || expiresAt > start + 90 * DAY)) return wrong('expires_at');
    return null;
  }

  /** The first reason against a transfer; one that is for later is not held to how the books stand now. */
  refuse(asked: AskedTransfer, when: 'now' | 'later'): Refused | null {
    const { books } = this;
    if (this.isDisabled(asked.type)) return no('service_disabled');
    const card = books.cards.get(asked.card);
    if (card === undefined) return no('card_not_found', `'${asked.card}'`);
    const other = asked.destination === null ? undefined : books.cards.get(asked.destination);
    if (asked.destination !== null && other === undefined) return no('card_not_found', `'${asked.destination}'`);
    const refused = this.refuseStates(asked);
    if (refused !== null) return refused;
    if (asked.currency !== null && asked.currency !== card.currency) return no('currency_mismatch', "'currency' is");
    if (other !== undefined && other.currency !== card.currency) return no('currency_mismatch', 'Both cards');
    const isTaken = books.transfers.some(
      (other) =>
        other.reference !== null &&
        other.reference === asked.reference &&
        !['failed', 'canceled', 'expired'].includes(books.status(other)),
    );
    if (isTaken) return no('duplicate_reference');
    const route = { ...asked, currency: card.currency };
    const limits = books.limitsOf(route);
    const broken = limits.find(({ name, value }) => name === 'minimum_amount' && asked.amount < value);
    if (broken !== undefined) return no('amount_too_small', nameOf(broken));
    const passed = limits.find(({ name, value }) => name === 'maximum_amount' && asked.amount > value);
    if (passed !== undefined) return no('amount_too_large', nameOf(passed));
    return when === 'later' ? null : this.#refuseBooks(route, asked.amount, limits);
  }

  #refuseBooks(route: Route, amount: bigint, limits: readonly StandingLimit[]): Refused | null {
    const full = limits.find(({ name, left }) => left !== null && left < (name.endsWith('count') ? 1n : amount));
    if (full !== undefined) return no('limit_exceeded', nameOf(full));
    const refused = this.refuseRoom(route, amount, 0n);
    if (refused !== null) return refused;
    return this.books.available(sourceOf(route)) < amount ? no('insufficient_funds') : null;
  }

  /** A card whose state does not let the money through: first the one that is named first. */
  refuseStates({ type, card, destination }: Pick<Route, 'type' | 'card' | 'destination'>): Refused | null {
    const refuse = (name: string, direction: Direction): Refused | null => {
      const status = this.books.cardStatus(name);
      if ((direction === 'in' ? LETS_IN : LETS_OUT).includes(status)) return null;
      return no(CODES[status] ?? `card_${status}`, `'${name}'`);
    };
    return refuse(card, type === 'load' ? 'in' : 'out') ?? (destination === null ? null : refuse(destination, 'in'));
  }

  /** `own`: what of the incoming money is this transfer's own hold. */
  refuseRoom(route: Route, amount: bigint, own: bigint): Refused | null {
    const { books } = this;
    const account = destinationOf(route);
    const total = books.balance(account) + books.incoming(account) - own + amount;
    const most = books.cards.has(account) ? books.maximumBalance(account) : null;
    if (most !== null && total > most.value) return no('limit_exceeded', nameOf({ ...most, name: 'maximum_balance' }));
    return total > LARGEST_BALANCE ? no('limit_exceeded', 'would exceed the maximum balance') : null;
  }

  isDisabled(type: TransferType): boolean {
    return this.switches.some(
      (setting) =>
        setting.disabled &&
        (setting.until === null || setting.until > this.books.now) &&
        setting.program !== 'other' &&
        (setting.type === null || setting.type === type),
    );
  }
}

function nameOf({ name, source }: { readonly name: string; readonly source: keyof typeof WHOSE }): string {
  return `'${name}' limit (${WHOSE[source]})`;
}
