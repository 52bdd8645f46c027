import type { CardStatus } from '../../domain/cards/card.ts';
import type { Limits } from '../../domain/ledger/limits.ts';
import { type Direction, destinationOf, type KeptTransfer, ModelBooks, sourceOf, sum } from './transfer-model-books.ts';
import { DAY, LARGEST_AMOUNT, LARGEST_BALANCE, ModelRules, no } from './transfer-model-rules.ts';
import {
  type AskedTransfer,
  accountFact,
  type CardStep,
  CURRENCIES,
  cardFact,
  type Fact,
  limitFact,
  type Opening,
  outlookFact,
  type Refused,
  type Side,
  type Step,
  transferFact,
} from './transfer-steps.ts';

/** The states that a card can be given in each; `expired` comes by itself, and nothing comes before `preactive`. */
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

/** The rules about transfers, written a second time as plainly as they can be. It shares no decision with the domain. */
export class Model implements Side {
  readonly books: ModelBooks;
  readonly #rules: ModelRules;

  constructor(opening: Opening) {
    this.books = new ModelBooks(opening);
    this.#rules = new ModelRules(this.books);
  }

  perform(step: Step): Refused | null {
    switch (step.does) {
      case 'create':
        return this.#create(step.asked);
      case 'capture':
        return this.#capture(this.#transfer(step.transfer), step.amount);
      case 'cancel':
        return this.#cancel(this.#transfer(step.transfer));
      case 'expire':
        return this.#expire(this.#transfer(step.transfer));
      case 'execute':
        return this.#execute(this.#transfer(step.transfer));
      case 'reverse':
        return this.#reverse(this.#transfer(step.transfer), step.amount);
      case 'update_card':
        return this.#updateCard(step);
      default:
        this.#arrange(step);
        return null;
    }
  }

  /** What surrounds transfers, and is taken as it comes. */
  #arrange(step: Step): void {
    const { books } = this;
    if (step.does === 'put_card_status') books.card(step.card).status = step.status;
    if (step.does === 'put_card_limits') books.card(step.card).limits = step.limits;
    if (step.does === 'put_program_limits' && step.each) books.cardLimits = step.limits;
    if (step.does === 'put_program_limits' && !step.each) books.limits = step.limits;
    if (step.does === 'deposit') books.deposits.push({ currency: step.currency, amount: step.amount });
    if (step.does === 'wait_until') books.now = step.now;
    if (step.does === 'switch') {
      const { program, type } = step.setting;
      const others = this.#rules.switches.filter((other) => other.program !== program || other.type !== type);
      this.#rules.switches = [...others, step.setting];
    }
  }

  // What can be done with a transfer.

  #create(asked: AskedTransfer): Refused | null {
    const { now } = this.books;
    const refused =
      this.#rules.refuseTimes(asked) ?? this.#rules.refuse(asked, asked.scheduledFor === null ? 'now' : 'later');
    if (refused !== null) return refused;
    const { currency } = this.books.card(asked.card);
    const expiresAt = asked.expiresAt ?? (asked.scheduledFor ?? now) + 7 * DAY;
    const transfer = this.#keep({ ...asked, currency, expiresAt: asked.capture === 'manual' ? expiresAt : null });
    if (asked.scheduledFor === null) this.#begin(transfer);
    return null;
  }

  #keep(asked: AskedTransfer & { readonly currency: string }): KeptTransfer {
    const nothingYet = { countedOn: null, captured: 0n, reversals: [], errorCode: null, completedAt: null };
    const transfer: KeptTransfer = { ...asked, ...nothingYet, status: 'scheduled', updatedAt: this.books.now };
    this.books.transfers.push(transfer);
    return transfer;
  }

  #begin(transfer: KeptTransfer): void {
    transfer.countedOn = this.books.today();
    transfer.updatedAt = this.books.now;
    if (transfer.capture === 'manual') transfer.status = 'pending';
    else this.#complete(transfer, transfer.amount);
  }

  #complete(transfer: KeptTransfer, captured: bigint): void {
    transfer.status = 'completed';
    transfer.captured = captured;
    transfer.updatedAt = this.books.now;
    transfer.completedAt = this.books.now;
  }

  #end(transfer: KeptTransfer, status: 'canceled' | 'expired' | 'failed', errorCode: string | null = null): void {
    transfer.status = status;
    transfer.errorCode = errorCode;
    transfer.updatedAt = this.books.now;
  }

  #execute(transfer: KeptTransfer): Refused | null {
    const { now } = this.books;
    const isDue = transfer.scheduledFor !== null && transfer.scheduledFor <= now;
    if (transfer.status !== 'scheduled' || !isDue) return no('invalid_transfer_status');
    // It waited so long that nothing may be held for it any more.
    if (transfer.expiresAt !== null && transfer.expiresAt <= now) {
      this.#end(transfer, 'expired');
      return null;
    }
    const refused = this.#rules.refuse({ ...transfer, reference: null }, 'now');
    if (refused?.code === 'service_disabled') return refused;
    if (refused === null) this.#begin(transfer);
    else this.#end(transfer, 'failed', refused.code);
    return null;
  }

  #capture(transfer: KeptTransfer, asked: bigint | null): Refused | null {
    if (this.#rules.isDisabled(transfer.type)) return no('service_disabled');
    const status = this.books.status(transfer);
    if (status !== 'pending') return no('invalid_transfer_status', this.#standing(transfer));
    const amount = asked ?? transfer.amount;
    if (amount > transfer.amount) return no('amount_too_large');
    const refused = this.#rules.refuseStates(transfer) ?? this.#rules.refuseRoom(transfer, amount, transfer.amount);
    if (refused !== null) return refused;
    this.#complete(transfer, amount);
    return null;
  }

  #cancel(transfer: KeptTransfer): Refused | null {
    const status = this.books.status(transfer);
    const isOpen = status === 'pending' || status === 'scheduled';
    if (!isOpen) return no('invalid_transfer_status', this.#standing(transfer));
    this.#end(transfer, 'canceled');
    return null;
  }

  #expire(transfer: KeptTransfer): Refused | null {
    const isOver = transfer.status === 'pending' && this.books.status(transfer) === 'expired';
    if (!isOver) return no('invalid_transfer_status');
    this.#end(transfer, 'expired');
    return null;
  }

  #reverse(transfer: KeptTransfer, asked: bigint | null): Refused | null {
    const { books } = this;
    if (this.#rules.isDisabled(transfer.type)) return no('service_disabled');
    if (transfer.status !== 'completed') return no('invalid_transfer_status', this.#standing(transfer));
    const left = transfer.captured - sum(transfer.reversals);
    if (left === 0n) return no('invalid_transfer_status', 'have already been reversed');
    const amount = asked ?? left;
    if (amount > left) return no('amount_too_large');
    const [giver, receiver] = [destinationOf(transfer), sourceOf(transfer)];
    if (books.cards.has(receiver) && books.cardStatus(receiver) === 'closed') return no('card_closed');
    if (books.balance(receiver) + books.incoming(receiver) + amount > LARGEST_BALANCE) return no('limit_exceeded');
    if (books.available(giver) < amount) return no('insufficient_funds');
    transfer.reversals.push(amount);
    transfer.updatedAt = books.now;
    return null;
  }

  /** What a message says of a transfer with which something cannot be done. */
  #standing(transfer: KeptTransfer): string {
    const status = this.books.status(transfer);
    const since = { completed: transfer.completedAt, expired: transfer.expiresAt };
    const time = status === 'completed' || status === 'expired' ? since[status] : null;
    return time === null
      ? `is ${status} and cannot`
      : `has been ${status} since ${new Date(time).toISOString()} and cannot`;
  }

  #updateCard({ card: name, status, expiresOn, limits, balanceTo }: CardStep): Refused | null {
    const { books } = this;
    if (balanceTo !== null && this.#rules.isDisabled('unload')) return no('service_disabled');
    const card = books.cards.get(name);
    if (card === undefined) return no('card_not_found');
    const after = {
      status: status ?? card.status,
      expiresOn: expiresOn ?? card.expiresOn,
      limits: limits ?? card.limits,
    };
    const sameLimits = textOf(after.limits) === textOf(card.limits);
    const isSame = after.status === card.status && after.expiresOn === card.expiresOn && sameLimits;
    if (card.status === 'closed') return isSame ? null : no('invalid_card_status');
    const from = books.cardStatus(name, after.expiresOn);
    if (status !== null && status !== from && !LEADS_TO[from].includes(status)) return no('invalid_card_status');
    const refused = status === 'closed' ? this.#empty(name, balanceTo !== null) : null;
    if (refused === null) Object.assign(card, after);
    return refused;
  }

  /** What is on a card that closes goes back to funding, if it may be taken along: no limit counts that. */
  #empty(name: string, takesAlong: boolean): Refused | null {
    const { books } = this;
    const balance = books.balance(name);
    if (books.held(name) > 0n || books.incoming(name) > 0n) return no('card_not_empty');
    if (balance === 0n) return null;
    if (!takesAlong) return no('card_not_empty');
    if (balance > LARGEST_AMOUNT) return no('limit_exceeded');
    const { currency } = books.card(name);
    const asked = { type: 'unload', amount: balance, card: name, destination: null, reference: null } as const;
    const refused = this.#rules.refuseRoom({ ...asked, currency }, balance, 0n);
    if (refused !== null) return refused;
    const whole = { ...asked, currency, capture: 'automatic', expiresAt: null, scheduledFor: null } as const;
    this.#complete(this.#keep(whole), balance);
    return null;
  }

  // What a caller could read.

  overdue() {
    const { transfers, now } = this.books;
    const expired = transfers.flatMap((transfer, index) =>
      transfer.status === 'pending' && this.books.status(transfer) === 'expired' ? [index] : [],
    );
    const due = transfers.flatMap(({ status, scheduledFor }, index) =>
      status === 'scheduled' && scheduledFor !== null && scheduledFor <= now ? [index] : [],
    );
    return { expired, due };
  }

  facts(): readonly Fact[] {
    return [...this.#accountFacts(), ...this.#cardFacts(), ...this.#transferFacts(), ...this.#limitFacts()];
  }

  #cardFacts(): readonly Fact[] {
    const { books } = this;
    return [...books.cards].map(([name, { expiresOn }]) => {
      return cardFact(name, { status: books.cardStatus(name), lastDay: expiresOn });
    });
  }

  #accountFacts(): readonly Fact[] {
    const { books } = this;
    return books.accounts().map((name) => {
      const [balance, held, incoming] = [books.balance(name), books.held(name), books.incoming(name)];
      return accountFact(name, { balance, held, incoming, available: balance - held, lines: books.lines(name) });
    });
  }

  #transferFacts(): readonly Fact[] {
    return this.books.transfers.map((transfer, index) => {
      const status = this.books.status(transfer);
      const { captured, reversals, errorCode: error, expiresAt, updatedAt, completedAt } = transfer;
      const outcome = status === 'pending' || status === 'scheduled' ? 'open' : 'final';
      const reversed = sum(reversals);
      return transferFact(index, { status, outcome, captured, reversed, error, expiresAt, updatedAt, completedAt });
    });
  }

  #limitFacts(): readonly Fact[] {
    const { books } = this;
    return (['in', 'out'] as const).flatMap((direction) => [
      ...CURRENCIES.flatMap((currency) =>
        books.limitsOnAll(currency, direction).map((standing) => limitFact(currency, direction, standing)),
      ),
      ...[...books.cards.keys()].flatMap((name) =>
        books.limitsOn(name, direction).map((standing) => limitFact(name, direction, standing)),
      ),
    ]);
  }

  outlook(name: string): readonly Fact[] {
    const { books } = this;
    const most = books.maximumBalance(name);
    const more = most === null ? 0n : most.value - books.balance(name) - books.incoming(name);
    const onBalance = { value: null, source: null, left: null, ...most, ...(most && { left: more > 0n ? more : 0n }) };
    return [
      ...(['in', 'out'] as const).flatMap((direction) => this.#outlookTo(name, direction)),
      outlookFact(name, 'balance', onBalance),
    ];
  }

  /** The most that can be loaded or unloaded now, found by trying: one of these amounts it is, or it is nothing. */
  #outlookTo(card: string, direction: Direction): readonly Fact[] {
    const { books } = this;
    const { currency } = books.card(card);
    const route = { type: direction === 'in' ? 'load' : 'unload', card, destination: null, currency } as const;
    const limits = books.limitsOf(route);
    const [source, destination] = [sourceOf(route), destinationOf(route)];
    const present = books.balance(destination) + books.incoming(destination);
    const rooms = [LARGEST_BALANCE, books.cards.has(destination) ? books.maximumBalance(destination)?.value : null];
    const bounds = [
      ...limits.flatMap(({ value, left }) => [value, left ?? value]),
      ...rooms.map((room) => (room ?? 0n) - present),
      ...[LARGEST_AMOUNT, books.available(source)],
    ].filter((amount) => amount >= 1n && amount <= LARGEST_AMOUNT);
    const when = { reference: null, capture: 'automatic', expiresAt: null, scheduledFor: null } as const;
    const tried = bounds.filter((amount) => this.#rules.refuse({ ...route, ...when, amount }, 'now') === null);
    const floors = limits.flatMap(({ name, value }) => (name === 'minimum_amount' ? [value] : []));
    const code = this.#rules.refuseStates(route)?.code ?? null;
    return [
      outlookFact(card, direction, { code, most: largest(tried, 0n), least: largest(floors, 1n) }),
      ...limits.map((standing) => limitFact(card, direction, standing)),
    ];
  }

  #transfer(index: number): KeptTransfer {
    const transfer = this.books.transfers[index];
    if (transfer === undefined) throw new Error(`there is no transfer ${index}`);
    return transfer;
  }
}

function largest(amounts: readonly bigint[], atLeast: bigint): bigint {
  return amounts.reduce((most, amount) => (amount > most ? amount : most), atLeast);
}

/** Limits as text, to tell whether they are the same; none at all is the same as nothing limited. */
function textOf(limits: Limits | null): string {
  return JSON.stringify(limits ?? { in: {}, out: {}, maximumBalance: null }, (_, value) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}
