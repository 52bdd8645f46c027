import { MAX_WEBHOOKS } from '../../contract/webhooks/requests.ts';
import { CARD_MOVES, CARD_RULES, type CardStatus } from '../../domain/cards/card.ts';
import { toWireId } from '../../domain/identifier.ts';
import { PROGRAMS } from './world.ts';

/** What a caller asks for. Amounts are minor units; `transfer` is an id on the wire. */
export type Ask =
  | {
      readonly does: 'create';
      readonly program: number;
      readonly type: 'load' | 'unload' | 'card_to_card';
      readonly card: string;
      readonly destination: string | null;
      readonly amount: bigint;
      readonly holds: boolean;
      readonly reference: string | null;
      /** Whether PostgreSQL refuses its row, whatever the books say. */
      readonly isPoison: boolean;
    }
  | {
      readonly does: 'capture' | 'cancel' | 'reverse';
      readonly program: number;
      readonly transfer: string;
      readonly amount: bigint | null;
    }
  | {
      readonly does: 'update_transfer';
      readonly program: number;
      readonly transfer: string;
      readonly name: string;
      readonly value: string;
    }
  | { readonly does: 'update_card'; readonly program: number; readonly card: string; readonly status: CardStatus }
  | { readonly does: 'erase'; readonly program: number; readonly card: string }
  | {
      readonly does: 'create_webhook';
      readonly program: number;
      /** Whether it gets the events from the first on. */
      readonly fromFirst: boolean;
    }
  | {
      readonly does: 'update_webhook';
      readonly program: number;
      readonly webhook: string;
      readonly status: 'enabled' | 'disabled';
      /** Whether it passes over the events that it has not got. */
      readonly skips: boolean;
    }
  | { readonly does: 'delete_webhook'; readonly program: number; readonly webhook: string };

type BookAccount = { balance: bigint; held: bigint; incoming: bigint };

type BookTransfer = {
  readonly source: string;
  readonly destination: string;
  readonly cards: readonly string[];
  readonly type: 'load' | 'unload' | 'card_to_card';
  readonly amount: bigint;
  status: 'pending' | 'completed' | 'canceled';
  captured: bigint;
  reversed: bigint;
  metadata: Record<string, string>;
};

/** The books as they are if one request is carried out after the other: plain, and without any of the service's code. */
export class SerialBooks {
  /** By the name of a card, or `funding` with the index of the program. */
  readonly accounts = new Map<string, BookAccount>();
  /** By name. */
  readonly cards = new Map<string, { status: CardStatus; isErased: boolean }>();
  /** By id on the wire. */
  readonly transfers = new Map<string, BookTransfer>();
  /** By id on the wire; without those that are deleted. A paused one is enabled here. */
  readonly webhooks = new Map<string, { readonly program: number; status: 'enabled' | 'disabled' }>();
  readonly #references = new Set<string>();

  constructor(balanceOf: (accountId: string) => bigint) {
    for (const [index, { fundingId, webhookId, cards }] of PROGRAMS.entries()) {
      this.webhooks.set(toWireId('wh', webhookId), { program: index, status: 'enabled' });
      this.accounts.set(`funding ${index}`, { balance: balanceOf(fundingId), held: 0n, incoming: 0n });
      for (const { name, accountId } of cards) {
        this.accounts.set(name, { balance: balanceOf(accountId), held: 0n, incoming: 0n });
        this.cards.set(name, { status: 'active', isErased: false });
      }
    }
  }

  /** The code with which it would be refused now; `unchanged` where it would be a success that changes nothing. */
  refusalOf(ask: Ask): string | undefined {
    switch (ask.does) {
      case 'create':
        return this.#refuseCreation(ask);
      case 'update_transfer':
        return this.#of(ask.transfer)?.cards.some((card) => this.#card(card).isErased) ? 'card_erased' : undefined;
      case 'update_card':
        return this.#refuseCard(ask.card, ask.status);
      case 'erase':
        if (this.#card(ask.card).isErased) return 'unchanged';
        return this.#card(ask.card).status === 'closed' ? undefined : 'card_not_closed';
      case 'create_webhook': {
        const own = [...this.webhooks.values()].filter(({ program }) => program === ask.program);
        return own.length < MAX_WEBHOOKS ? undefined : 'webhook_limit';
      }
      case 'update_webhook': {
        const webhook = this.webhooks.get(ask.webhook);
        if (webhook === undefined) return 'webhook_not_found';
        return webhook.status === ask.status ? 'unchanged' : undefined;
      }
      case 'delete_webhook':
        return this.webhooks.has(ask.webhook) ? undefined : 'webhook_not_found';
      default:
        return this.#refuseChange(ask.does, ask.transfer, ask.amount);
    }
  }

  /** Carries it out; `newId` is the id that a new transfer or webhook has got. */
  apply(ask: Ask, newId: string): void {
    switch (ask.does) {
      case 'create':
        this.#create(ask, newId);
        return;
      case 'update_transfer': {
        const transfer = this.#of(ask.transfer);
        if (transfer !== undefined) transfer.metadata = { ...transfer.metadata, [ask.name]: ask.value };
        return;
      }
      case 'update_card':
        if (ask.status === 'closed') this.#sweep(ask.program, ask.card);
        this.#card(ask.card).status = ask.status;
        return;
      case 'erase':
        this.#card(ask.card).isErased = true;
        return;
      case 'create_webhook':
        this.webhooks.set(newId, { program: ask.program, status: 'enabled' });
        return;
      case 'update_webhook': {
        const webhook = this.webhooks.get(ask.webhook);
        if (webhook !== undefined) webhook.status = ask.status;
        return;
      }
      case 'delete_webhook':
        this.webhooks.delete(ask.webhook);
        return;
      default:
        this.#change(ask.does, ask.transfer, ask.amount);
    }
  }

  #refuseCreation({ type, card, destination, amount, program, reference }: Extract<Ask, { does: 'create' }>) {
    const refused = this.#refuseStates(type, card, destination);
    if (refused !== undefined) return refused;
    if (reference !== null && this.#references.has(`${program} ${reference}`)) return 'duplicate_reference';
    const source = this.#account(type === 'load' ? `funding ${program}` : card);
    return source.balance - source.held < amount ? 'insufficient_funds' : undefined;
  }

  #refuseStates(type: BookTransfer['type'], card: string, destination: string | null): string | undefined {
    const own = CARD_RULES[this.#card(card).status];
    if (!(type === 'load' ? own.moneyIn : own.moneyOut)) return own.code ?? undefined;
    if (destination === null) return undefined;
    const other = CARD_RULES[this.#card(destination).status];
    return other.moneyIn ? undefined : (other.code ?? undefined);
  }

  #refuseChange(does: 'capture' | 'cancel' | 'reverse', id: string, asked: bigint | null): string | undefined {
    const transfer = this.#of(id);
    if (transfer === undefined) return 'transfer_not_found';
    const { status, amount, captured, reversed, type, cards, destination } = transfer;
    if (status !== (does === 'reverse' ? 'completed' : 'pending')) return 'invalid_transfer_status';
    if (does === 'cancel') return undefined;
    const [card = '', other = null] = cards;
    if (does === 'capture') {
      if ((asked ?? amount) > amount) return 'amount_too_large';
      return this.#refuseStates(type, card, other);
    }
    const left = captured - reversed;
    if (left === 0n) return 'invalid_transfer_status';
    if ((asked ?? left) > left) return 'amount_too_large';
    if (type !== 'load' && this.#card(card).status === 'closed') return 'card_closed';
    const giver = this.#account(destination);
    return giver.balance - giver.held < (asked ?? left) ? 'insufficient_funds' : undefined;
  }

  #refuseCard(name: string, status: CardStatus): string | undefined {
    const before = this.#card(name).status;
    if (before === status) return 'unchanged';
    if (before === 'closed' || !CARD_MOVES[before].includes(status)) return 'invalid_card_status';
    const { held, incoming } = this.#account(name);
    return status === 'closed' && (held > 0n || incoming > 0n) ? 'card_not_empty' : undefined;
  }

  #create(
    { type, card, destination, amount, holds, program, reference }: Extract<Ask, { does: 'create' }>,
    id: string,
  ) {
    const funding = `funding ${program}`;
    const ends =
      type === 'load'
        ? { source: funding, destination: card }
        : { source: card, destination: type === 'unload' ? funding : (destination ?? '') };
    const cards = destination === null ? [card] : [card, destination];
    const standing = { ...ends, cards, type, amount, captured: 0n, reversed: 0n, metadata: {} };
    if (reference !== null) this.#references.add(`${program} ${reference}`);
    this.transfers.set(id, { ...standing, status: 'pending' });
    this.#account(ends.source).held += amount;
    this.#account(ends.destination).incoming += amount;
    if (!holds) this.#change('capture', id, null);
  }

  #change(does: 'capture' | 'cancel' | 'reverse', id: string, asked: bigint | null): void {
    const transfer = this.#of(id);
    if (transfer === undefined) return;
    const source = this.#account(transfer.source);
    const destination = this.#account(transfer.destination);
    if (does === 'reverse') {
      const amount = asked ?? transfer.captured - transfer.reversed;
      transfer.reversed += amount;
      source.balance += amount;
      destination.balance -= amount;
      return;
    }
    source.held -= transfer.amount;
    destination.incoming -= transfer.amount;
    transfer.status = does === 'capture' ? 'completed' : 'canceled';
    if (does === 'cancel') return;
    transfer.captured = asked ?? transfer.amount;
    source.balance -= transfer.captured;
    destination.balance += transfer.captured;
  }

  #sweep(program: number, card: string): void {
    const account = this.#account(card);
    this.#account(`funding ${program}`).balance += account.balance;
    account.balance = 0n;
  }

  #account(name: string): BookAccount {
    const account = this.accounts.get(name);
    if (account === undefined) throw new Error(`the books have no account ${name}`);
    return account;
  }

  #card(name: string): { status: CardStatus; isErased: boolean } {
    const card = this.cards.get(name);
    if (card === undefined) throw new Error(`the books have no card ${name}`);
    return card;
  }

  #of(id: string): BookTransfer | undefined {
    return this.transfers.get(id);
  }
}
