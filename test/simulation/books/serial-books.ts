import type { CardStatus } from '../../../domain/cards/card.ts';
import type { Ask, TransferType } from '../ask.ts';
import { BookAttempts } from './book-attempts.ts';
import { type BookCount, BookLimits, endsOf, limitedOf, sidesOf, type Terms } from './book-limits.ts';
import { BookPrograms } from './book-programs.ts';
import { BookReferences } from './book-references.ts';
import { BookSwitch } from './book-switch.ts';
import type { BookAccount, BookCard, BookTransfer } from './book-transfer.ts';

type Create = Extract<Ask, { does: 'create' }>;

/** The default duration of a hold. */
const DEFAULT_HOLD_MILLISECONDS = 7 * 86_400_000;

/** How many webhooks a program may have. */
const MAX_WEBHOOKS = 20;

/** The statuses that let money in and out, and the code with which the others refuse it. */
const LETS_IN: readonly CardStatus[] = ['active'];
const LETS_OUT: readonly CardStatus[] = ['active', 'lost', 'stolen', 'expired'];
const CODES: Readonly<Record<Exclude<CardStatus, 'active'>, string>> = {
  preactive: 'card_not_activated',
  inactive: 'card_suspended',
  lost: 'card_lost',
  stolen: 'card_lost',
  fraud: 'card_suspected_fraud',
  expired: 'card_expired',
  closed: 'card_closed',
};

/** The statuses that a card can be given in each; it expires without being asked. */
const LEADS_TO: Readonly<Record<CardStatus, readonly CardStatus[]>> = {
  preactive: ['active', 'inactive', 'lost', 'stolen', 'fraud', 'closed'],
  active: ['inactive', 'lost', 'stolen', 'fraud', 'closed'],
  inactive: ['active', 'lost', 'stolen', 'fraud', 'closed'],
  lost: ['active', 'inactive', 'stolen', 'fraud', 'closed'],
  stolen: ['closed'],
  fraud: ['active', 'inactive', 'stolen', 'closed'],
  expired: ['lost', 'stolen', 'fraud', 'closed'],
  closed: [],
};

/** The programs at the beginning, in the order of their numbers. */
export type Opening = readonly {
  readonly name: string;
  readonly threshold: bigint | null;
  /** As they are stored. */
  readonly limits: unknown;
  readonly cardLimits: unknown;
  /** Its id on the wire. */
  readonly webhook: string;
  readonly funding: bigint;
  readonly cards: readonly { readonly name: string; readonly balance: bigint; readonly isElsewhere: boolean }[];
}[];

/** The books when requests are carried out one after the other: simple, and without any code of the service. */
export class SerialBooks {
  /** By the name of a card, or `funding` with the index of the program. */
  readonly accounts = new Map<string, BookAccount>();
  /** By name. */
  readonly cards = new Map<string, BookCard>();
  readonly programs = new BookPrograms((program) => this.#available(`funding ${program}`));
  /** By id on the wire. */
  readonly transfers = new Map<string, BookTransfer>();
  /** By id on the wire; without those that are deleted. A paused one is enabled here. */
  readonly webhooks = new Map<string, { readonly program: number; status: 'enabled' | 'disabled' }>();
  readonly #limits = new BookLimits();
  readonly #switch = new BookSwitch();
  readonly references = new BookReferences(this.transfers);
  readonly attempts = new BookAttempts();

  constructor(opening: Opening) {
    for (const [index, { name, threshold, limits, cardLimits, webhook, funding, cards }] of opening.entries()) {
      this.programs.all.push({ name, threshold });
      this.#limits.setAll(`program ${index}`, limits);
      this.#limits.setAll(`cards ${index}`, cardLimits);
      this.webhooks.set(webhook, { program: index, status: 'enabled' });
      this.accounts.set(`funding ${index}`, { balance: funding, held: 0n, incoming: 0n });
      this.accounts.set(`suspense ${index}`, { balance: 0n, held: 0n, incoming: 0n });
      for (const { name: card, balance, isElsewhere } of cards) {
        this.accounts.set(card, { balance, held: 0n, incoming: 0n });
        this.cards.set(card, { status: 'active', isErased: false, isElsewhere });
      }
    }
  }

  /** What was counted, by account, direction and day. */
  get counts(): ReadonlyMap<string, BookCount> {
    return this.#limits.counts;
  }

  /** The code with which it would be refused at a time; `unchanged` for a success that changes nothing. */
  refusalOf(ask: Ask, at: number): string | undefined {
    switch (ask.does) {
      case 'create':
        return this.#refuseCreation(ask, at);
      case 'update_transfer':
        return this.#of(ask.transfer)?.cards.some((card) => this.#card(card).isErased) ? 'card_erased' : undefined;
      case 'update_card':
        return this.#refuseCard(ask, at);
      case 'limit_card':
        if (this.#limits.isSet(ask.card, ask.limit, ask.value)) return 'unchanged';
        return this.#card(ask.card).status === 'closed' ? 'invalid_card_status' : undefined;
      case 'update_program':
        return this.#isProgram(ask) ? 'unchanged' : undefined;
      case 'deposit':
      case 'withdraw': {
        if (this.references.isOfMovement(ask)) return 'duplicate_reference';
        const isEnough = ask.does === 'deposit' || this.#available(`funding ${ask.program}`) >= ask.amount;
        return isEnough ? undefined : 'insufficient_funds';
      }
      case 'change_switch':
        return ask.until !== null && ask.until <= at ? 'change_switch_schema' : undefined;
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
      case 'resolve':
        return this.attempts.refusalOf(ask);
      default:
        return this.#refuseChange(ask.does, ask.transfer, ask.amount, at);
    }
  }

  /** Carries it out; `newId` is the id of a new transfer or webhook, `at` the time of the decision. */
  apply(ask: Ask, newId: string, at: number): void {
    this.programs.watch(() => this.#apply(ask, newId, at));
  }

  /**
   * Carries out something due: a hold ends, or a scheduled transfer is made, held, or has failed with a code. Returns why
   * this would be wrong, if so.
   */
  settle(id: string, to: BookTransfer['status'], code: string | undefined, at: number): string | undefined {
    const transfer = this.#of(id);
    if (transfer === undefined) return 'does not exist';
    const { scheduledFor, expiresAt } = transfer;
    const isOver = expiresAt !== null && expiresAt <= at;
    if (transfer.status === 'pending' && transfer.isElsewhere) return this.#report(transfer, to);
    if (transfer.status === 'pending') {
      if (to !== 'expired' || !isOver) return `is pending and cannot become ${to}`;
      this.#end(transfer, 'expired', 0n);
      return undefined;
    }
    if (transfer.status !== 'scheduled') return `is ${transfer.status}`;
    if (scheduledFor === null || scheduledFor > at) return 'is not due';
    // A process knows before others that a processor cannot be reached.
    const isDown = code === 'processor_unavailable' && transfer.isElsewhere;
    const refusal = isDown ? code : isOver ? undefined : this.#refuseMoney(transfer, at);
    if (refusal === 'service_disabled') return 'waits while its scope is disabled';
    if (refusal !== code) return `has ${refusal ?? 'no reason'} to fail, not ${code ?? 'none'}`;
    const expected = isOver ? 'expired' : transfer.holds || transfer.isElsewhere ? 'pending' : 'completed';
    if (to !== (refusal === undefined ? expected : 'failed')) return `becomes ${expected}, not ${to}`;
    transfer.status = to;
    if (refusal === undefined && !isOver) this.programs.watch(() => this.#begin(transfer, at));
    return undefined;
  }

  /** What its processor has said of a transfer that waits for it. */
  #report(transfer: BookTransfer, to: BookTransfer['status']): string | undefined {
    if (to === 'completed') this.programs.watch(() => this.#end(transfer, to, transfer.amount));
    else if (to === 'failed') this.programs.watch(() => this.#end(transfer, to, 0n));
    else if (to !== 'pending') return `waits for its processor and cannot become ${to}`;
    return undefined;
  }

  /** Its processor has moved the money of a transfer that had failed. */
  moveLate(id: string): string | undefined {
    const transfer = this.#of(id);
    if (transfer?.status !== 'failed' || !transfer.isElsewhere) return 'has not failed at a processor';
    const amount = transfer.type === 'load' ? transfer.amount : -transfer.amount;
    this.#account(`suspense ${transfer.program}`).balance -= amount;
    this.#account(transfer.cards[0] ?? '').balance += amount;
    return undefined;
  }

  /** Whether a transfer that is due waits for the switch. */
  waits(id: string, at: number): boolean {
    const transfer = this.#of(id);
    return transfer !== undefined && this.#switch.isDisabled(transfer.program, transfer.type, at);
  }

  #apply(ask: Ask, newId: string, at: number): void {
    switch (ask.does) {
      case 'create':
        this.#create(ask, newId, at);
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
      case 'limit_card':
        this.#limits.set(ask.card, ask.limit, ask.value);
        return;
      case 'update_program':
        this.#changeProgram(ask);
        return;
      case 'deposit':
      case 'withdraw':
        this.references.addMovement(ask);
        this.#account(`funding ${ask.program}`).balance += ask.does === 'deposit' ? ask.amount : -ask.amount;
        return;
      case 'change_switch':
        this.#switch.change(ask);
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
      case 'resolve': {
        const transfer = this.#of(this.attempts.transferOf(ask.attempt));
        if (transfer !== undefined) this.#report(transfer, ask.wasExecuted ? 'completed' : 'failed');
        return;
      }
      default:
        this.#change(ask.does, ask.transfer, ask.amount);
    }
  }

  #refuseCreation(ask: Create, at: number): string | undefined {
    const { type, card, destination, amount, program, scheduledFor, expiresAt } = ask;
    const isPast = scheduledFor !== null && scheduledFor <= at;
    if (isPast || (expiresAt !== null && expiresAt <= (scheduledFor ?? at))) return 'create_transfer_schema';
    const cards = destination === null ? [card] : [card, destination];
    const terms = { type, program, amount, ...endsOf(ask), cards };
    // What comes before it in the order of the checks.
    const isTried = !this.#switch.isDisabled(program, type, at);
    const isAtProcessor = cards.some((name) => this.#card(name).isElsewhere);
    if (isTried && isAtProcessor && (type === 'card_to_card' || ask.holds)) return 'connector_not_supported';
    const isNamed = this.references.isTaken(ask, at);
    if (scheduledFor === null && !isNamed) return this.#refuseMoney(terms, at);
    return this.#refuseForm(terms, at, isNamed);
  }

  /** The refusals when money would move or be held. */
  #refuseMoney(terms: Terms, at: number): string | undefined {
    const form = this.#refuseForm(terms, at, false);
    if (form !== undefined) return form;
    const { amount, source } = terms;
    if (this.#limits.exceeds(sidesOf(terms), amount, at) || this.#isTooMuch(terms, amount)) return 'limit_exceeded';
    return this.#isShort(source, amount) ? 'insufficient_funds' : undefined;
  }

  /** Whether the account of a source has too little. What a processor has was never in this ledger. */
  #isShort(source: string, amount: bigint): boolean {
    return this.cards.get(source)?.isElsewhere !== true && this.#available(source) < amount;
  }

  /** The refusals that apply at any time. */
  #refuseForm(terms: Terms, at: number, isNamed: boolean): string | undefined {
    const { type, program, amount, cards } = terms;
    if (this.#switch.isDisabled(program, type, at)) return 'service_disabled';
    const [card = '', other = null] = cards;
    const refused = this.#refuseStates(type, card, other);
    if (refused !== undefined) return refused;
    if (isNamed) return 'duplicate_reference';
    return this.#limits.refuseSize(sidesOf(terms), amount);
  }

  #refuseStates(type: TransferType, card: string, destination: string | null): string | undefined {
    const refuse = (name: string, letsThrough: readonly CardStatus[]): string | undefined => {
      const { status } = this.#card(name);
      return status === 'active' || letsThrough.includes(status) ? undefined : CODES[status];
    };
    const own = refuse(card, type === 'load' ? LETS_IN : LETS_OUT);
    return own ?? (destination === null ? undefined : refuse(destination, LETS_IN));
  }

  /** Whether the receiving card would exceed its maximum balance, including incoming holds. */
  #isTooMuch({ type, program, destination }: Terms, amount: bigint, freed = 0n): boolean {
    if (type === 'unload' || this.#card(destination).isElsewhere) return false;
    const most = this.#limits.maximumBalance(destination, program);
    const { balance, incoming } = this.#account(destination);
    return most !== undefined && balance + incoming - freed + amount > most;
  }

  #refuseChange(
    does: 'capture' | 'cancel' | 'reverse',
    id: string,
    asked: bigint | null,
    at: number,
  ): string | undefined {
    const transfer = this.#of(id);
    if (transfer === undefined) return 'transfer_not_found';
    const { amount, captured, reversed, type, cards, destination, expiresAt, program } = transfer;
    if (does !== 'cancel' && this.#switch.isDisabled(program, type, at)) return 'service_disabled';
    const isOver = transfer.status === 'pending' && expiresAt !== null && expiresAt <= at;
    const status = isOver ? 'expired' : transfer.status;
    if (transfer.isElsewhere && status === 'pending') return 'invalid_transfer_status';
    if (does === 'cancel')
      return status === 'pending' || status === 'scheduled' ? undefined : 'invalid_transfer_status';
    if (status !== (does === 'reverse' ? 'completed' : 'pending')) return 'invalid_transfer_status';
    const [card = '', other = null] = cards;
    if (does === 'capture') {
      if ((asked ?? amount) > amount) return 'amount_too_large';
      const refused = this.#refuseStates(type, card, other);
      if (refused !== undefined) return refused;
      return this.#isTooMuch(transfer, asked ?? amount, amount) ? 'limit_exceeded' : undefined;
    }
    const left = captured - reversed;
    if (left === 0n) return 'invalid_transfer_status';
    if (transfer.isElsewhere) return 'connector_not_supported';
    if ((asked ?? left) > left) return 'amount_too_large';
    if (type !== 'load' && this.#card(card).status === 'closed') return 'card_closed';
    return this.#available(destination) < (asked ?? left) ? 'insufficient_funds' : undefined;
  }

  #refuseCard({ card, status, program }: Extract<Ask, { does: 'update_card' }>, at: number): string | undefined {
    const { status: before } = this.#card(card);
    if (status === 'closed' && this.#switch.isDisabled(program, 'unload', at)) return 'service_disabled';
    if (before === status) return 'unchanged';
    if (before === 'closed' || !LEADS_TO[before].includes(status)) return 'invalid_card_status';
    const { held, incoming } = this.#account(card);
    return status === 'closed' && (held > 0n || incoming > 0n) ? 'card_not_empty' : undefined;
  }

  #create(ask: Create, id: string, at: number): void {
    const { type, card, destination, amount, holds, program, reference, scheduledFor, expiresAt } = ask;
    const transfer: BookTransfer = {
      ...endsOf(ask),
      ...{ program, type, amount, holds, reference, scheduledFor },
      ...{ captured: 0n, reversed: 0n, metadata: {}, countedAt: at },
      cards: destination === null ? [card] : [card, destination],
      isElsewhere: this.#card(card).isElsewhere,
      expiresAt: holds ? (expiresAt ?? (scheduledFor ?? at) + DEFAULT_HOLD_MILLISECONDS) : null,
      status: 'scheduled',
    };
    this.transfers.set(id, transfer);
    if (scheduledFor === null) this.#begin(transfer, at);
  }

  /** Holds the money, or moves it. */
  #begin(transfer: BookTransfer, at: number): void {
    const { amount, holds } = transfer;
    transfer.status = 'pending';
    transfer.countedAt = at;
    this.#account(transfer.source).held += amount;
    this.#account(transfer.destination).incoming += amount;
    this.#limits.count(sidesOf(transfer), at, amount, 1n);
    if (!holds && !transfer.isElsewhere) this.#end(transfer, 'completed', amount);
  }

  /** Ends a hold: what is not captured is subtracted from the day on which it was counted. */
  #end(transfer: BookTransfer, status: 'completed' | 'canceled' | 'expired' | 'failed', captured: bigint): void {
    const { amount, countedAt } = transfer;
    const source = this.#account(transfer.source);
    const destination = this.#account(transfer.destination);
    source.held -= amount;
    destination.incoming -= amount;
    transfer.status = status;
    transfer.captured = captured;
    source.balance -= captured;
    destination.balance += captured;
    this.#limits.count(sidesOf(transfer), countedAt, captured - amount, status === 'completed' ? 0n : -1n);
  }

  #change(does: 'capture' | 'cancel' | 'reverse', id: string, asked: bigint | null): void {
    const transfer = this.#of(id);
    if (transfer === undefined) return;
    if (does === 'capture') this.#end(transfer, 'completed', asked ?? transfer.amount);
    else if (does === 'reverse') {
      const amount = asked ?? transfer.captured - transfer.reversed;
      transfer.reversed += amount;
      this.#account(transfer.source).balance += amount;
      this.#account(transfer.destination).balance -= amount;
    } else if (transfer.status === 'pending') this.#end(transfer, 'canceled', 0n);
    else transfer.status = 'canceled';
  }

  #isProgram(ask: Extract<Ask, { does: 'update_program' }>): boolean {
    const owner = limitedOf(ask);
    return owner === undefined ? this.programs.isAsAsked(ask) : this.#limits.isSet(owner, ask.limit, ask.value);
  }

  #changeProgram(ask: Extract<Ask, { does: 'update_program' }>): void {
    const owner = limitedOf(ask);
    if (owner === undefined) this.programs.change(ask);
    else this.#limits.set(owner, ask.limit, ask.value);
  }

  #sweep(program: number, card: string): void {
    if (this.#card(card).isElsewhere) return;
    const account = this.#account(card);
    this.#account(`funding ${program}`).balance += account.balance;
    account.balance = 0n;
  }

  #available(name: string): bigint {
    const { balance, held } = this.#account(name);
    return balance - held;
  }

  #account(name: string): BookAccount {
    const account = this.accounts.get(name);
    if (account === undefined) throw new Error(`the books have no account ${name}`);
    return account;
  }

  #card(name: string): BookCard {
    const card = this.cards.get(name);
    if (card === undefined) throw new Error(`the books have no card ${name}`);
    return card;
  }

  #of(id: string): BookTransfer | undefined {
    return this.transfers.get(id);
  }
}
