import type { CardStatus } from '../../domain/cards/card.ts';
import type { Direction, LimitSource, Limits } from '../../domain/ledger/limits.ts';
import type { AttemptStatus } from '../../domain/processors/attempt.ts';
import type { TransferStatus, TransferType } from '../../domain/transfers/transfer.ts';
import {
  type AskedTransfer,
  Books,
  destinationOf,
  fundingOf,
  LIMIT_NAMES,
  type Route,
  type StandingLimit,
  sourceOf,
  sum,
  suspenseOf,
  type Transfer,
  worldOf,
} from './books.ts';

/** The largest amount of a transfer and the largest balance, in minor units. */
export const LARGEST_AMOUNT = 999_999_999_999n;
export const LARGEST_BALANCE = 2n ** 53n - 1n;

const DAY = 24 * 60 * 60 * 1000;
const LONGEST_HOLD = 90 * DAY;
const LONGEST_SCHEDULE = 366 * DAY;
const USUAL_HOLD = 7 * DAY;

/** For each card status: whether money may move in and out, the error code if it may not, and the statuses that can follow. */
const CARDS: Readonly<
  Record<CardStatus, { readonly in: boolean; readonly out: boolean; readonly code: string; readonly next: string }>
> = {
  preactive: { in: false, out: false, code: 'card_not_activated', next: 'active inactive lost stolen fraud closed' },
  active: { in: true, out: true, code: '', next: 'inactive lost stolen fraud closed' },
  inactive: { in: false, out: false, code: 'card_suspended', next: 'active lost stolen fraud closed' },
  lost: { in: false, out: true, code: 'card_lost', next: 'active inactive stolen fraud closed' },
  stolen: { in: false, out: true, code: 'card_lost', next: 'closed' },
  fraud: { in: false, out: false, code: 'card_suspected_fraud', next: 'active inactive stolen closed' },
  // A card expires only after its last day, never on request.
  expired: { in: false, out: true, code: 'card_expired', next: 'lost stolen fraud closed' },
  closed: { in: false, out: false, code: 'card_closed', next: '' },
};

/** The state of an attempt at a processor. Operators can end `open` attempts, but not `sending` ones. */
const ATTEMPTS: Readonly<Record<AttemptStatus, 'sending' | 'open' | 'executed' | 'failed'>> = {
  ready: 'sending',
  sent: 'sending',
  unknown: 'open',
  pending: 'open',
  reversing: 'open',
  attention: 'open',
  approved: 'executed',
  declined: 'failed',
  failed: 'failed',
  reversed: 'failed',
};

/** The reference of a transfer with one of these statuses can be used again. */
const WITHOUT_REFERENCE: readonly TransferStatus[] = ['failed', 'canceled', 'expired'];

const WHOSE: Readonly<Record<LimitSource, string>> = {
  card: 'set on the card',
  program_card: 'set by the card program for each card',
  program: 'set for the card program as a whole',
};

/** A refusal: its code, and part of the message that is unique to this cause. `unchanged` is a success without effect. */
export type Refused = { readonly code: string; readonly about: string | null };

/** A setting of the switch, for one program or all, and for one type of transfer or all. */
export type Switching = {
  readonly program: string | null;
  readonly type: TransferType | null;
  readonly disabled: boolean;
  readonly until: number | null;
};

/** New values of a card. Undefined or null keeps a field. */
export type CardChange = {
  readonly card: string;
  readonly status?: CardStatus | null;
  readonly expiresOn?: string | null;
  readonly limits?: Limits | null;
  /** Where the balance goes when the card is closed. Null if the balance must be zero. */
  readonly balanceTo?: 'funding' | null;
  /** The id of the transfer that moves the balance of a closed card to funding. */
  readonly sweep: string;
};

/** A change that was requested, became due, or was reported by a processor. The caller chooses the ids of transfers. */
export type Change =
  | { readonly does: 'create'; readonly id: string; readonly asked: AskedTransfer }
  | { readonly does: 'capture' | 'reverse'; readonly transfer: string; readonly amount: bigint | null }
  | { readonly does: 'cancel' | 'expire' | 'execute'; readonly transfer: string }
  | { readonly does: 'report'; readonly transfer: string; readonly wasExecuted: boolean }
  | { readonly does: 'report_late'; readonly transfer: string }
  | { readonly does: 'resolve'; readonly attempt: string; readonly wasExecuted: boolean }
  | ({ readonly does: 'update_card'; readonly program: string } & CardChange)
  | {
      readonly does: 'update_program';
      readonly program: string;
      readonly limits?: Limits | null;
      readonly cardLimits?: Limits | null;
      readonly threshold?: bigint | null;
    }
  | {
      readonly does: 'deposit' | 'withdraw';
      readonly program: string;
      readonly currency: string;
      readonly amount: bigint;
      readonly reference: string | null;
    }
  | ({ readonly does: 'change_switch' } & Switching);

/** The funding of a program became low. */
export type LowFunding = { readonly program: string; readonly available: bigint; readonly threshold: bigint };

const no = (code: string, about: string | null = null): Refused => ({ code, about });
const UNCHANGED = no('unchanged');
const WAITS = no('invalid_transfer_status', 'is waiting for ');

/**
 * The rules about money, written a second time as plainly as possible. The model shares no code with the product. `refuse` says
 * whether a change would be refused, and changes nothing. `apply` carries out a change even if `refuse` would refuse it.
 */
export class Model {
  readonly books = new Books();
  /** Attempts at processors, by id. */
  readonly attempts = new Map<string, { readonly transfer: string; readonly status: AttemptStatus }>();
  /** Programs whose funding became low since this list was last emptied. */
  readonly low: LowFunding[] = [];
  /** The settings of the switch. */
  switches: readonly Switching[] = [];
  /** References of deposits and withdrawals. They can never be used again. */
  readonly #movementReferences = new Set<string>();

  /** Carries out a change unless it is refused. */
  perform(change: Change): Refused | null {
    const refused = this.refuse(change);
    if (refused === null) this.apply(change);
    return refused;
  }

  /** Returns the first reason to refuse a change, in the order of precedence, or null. */
  refuse(change: Change): Refused | null {
    switch (change.does) {
      case 'create':
        return this.#refuseTimes(change.asked) ?? this.refuseTransfer(change.asked, change.asked.scheduledFor === null);
      case 'capture':
      case 'cancel':
      case 'expire':
      case 'execute':
      case 'reverse': {
        const transfer = this.books.transfers.get(change.transfer);
        return transfer === undefined ? no('transfer_not_found') : this.#refuseMove(change, transfer);
      }
      case 'report': {
        const { status, isElsewhere } = this.books.transfer(change.transfer);
        return status === 'pending' && isElsewhere ? null : no('invalid_transfer_status');
      }
      case 'report_late': {
        const { status, isElsewhere } = this.books.transfer(change.transfer);
        return status === 'failed' && isElsewhere ? null : no('invalid_transfer_status');
      }
      case 'resolve':
        return this.#refuseResolution(change.attempt, change.wasExecuted);
      case 'update_card':
        return this.#refuseCard(change);
      case 'update_program':
        return this.#isProgram(change) ? UNCHANGED : null;
      case 'deposit':
      case 'withdraw':
        return this.#refuseMovement(change);
      case 'change_switch':
        return change.until !== null && change.until <= this.books.now ? no('change_switch_schema') : null;
    }
  }

  /** Carries out a change, and adds the programs whose funding it made low to `low`. */
  apply(change: Change): void {
    const programs = [...this.books.programs.keys()];
    const before = programs.filter((program) => this.#isLow(program));
    this.#apply(change);
    for (const program of programs) {
      if (before.includes(program) || !this.#isLow(program)) continue;
      const { currency, threshold } = this.books.program(program);
      this.low.push({
        program,
        available: this.books.available(fundingOf(program, currency)),
        threshold: threshold ?? 0n,
      });
    }
  }

  #isLow(program: string): boolean {
    const { currency, threshold } = this.books.program(program);
    return threshold !== null && this.books.available(fundingOf(program, currency)) < threshold;
  }

  #apply(change: Change): void {
    const { books } = this;
    switch (change.does) {
      case 'create':
        this.#create(change.id, change.asked);
        break;
      case 'capture':
        this.#complete(change.transfer, change.amount ?? books.transfer(change.transfer).amount);
        break;
      case 'cancel':
        books.change(change.transfer, { status: 'canceled' });
        break;
      case 'expire':
        books.change(change.transfer, { status: 'expired' });
        break;
      case 'execute':
        this.#execute(change.transfer);
        break;
      case 'reverse': {
        const { captured, reversals } = books.transfer(change.transfer);
        const amount = change.amount ?? captured - sum(reversals);
        books.change(change.transfer, { reversals: [...reversals, amount] });
        break;
      }
      case 'report':
        this.#report(change.transfer, change.wasExecuted);
        break;
      case 'report_late': {
        // The transfer stays failed. The money is in suspense until an operator settles it.
        const { type, program, currency, card, amount } = books.transfer(change.transfer);
        const suspense = suspenseOf(program, currency);
        if (type === 'load') books.move(suspense, card, amount);
        else books.move(card, suspense, amount);
        break;
      }
      case 'resolve':
        this.#report(this.attempts.get(change.attempt)?.transfer ?? '', change.wasExecuted);
        break;
      case 'update_card':
        this.#updateCard(change);
        break;
      case 'update_program': {
        const { does: _does, program, ...changed } = change;
        Object.assign(books.program(program), changed);
        break;
      }
      case 'deposit':
      case 'withdraw': {
        const { program, currency, amount, reference } = change;
        if (reference !== null) this.#movementReferences.add(`${program} ${reference}`);
        const ends = [worldOf(program, currency), fundingOf(program, currency)] as const;
        const [source, destination] = change.does === 'deposit' ? ends : ends.toReversed();
        books.move(source ?? '', destination ?? '', amount);
        break;
      }
      case 'change_switch': {
        const isOther = ({ program, type }: Switching): boolean => program !== change.program || type !== change.type;
        this.switches = [...this.switches.filter(isOther), change];
      }
    }
  }

  // Creating a transfer.

  #refuseTimes({ scheduledFor, expiresAt }: AskedTransfer): Refused | null {
    const { now } = this.books;
    const isWrong = (time: number | null, after: number, longest: number): boolean =>
      time !== null && (time <= after || time > after + longest);
    if (isWrong(scheduledFor, now, LONGEST_SCHEDULE)) return no('create_transfer_schema', "'scheduled_for' is ");
    if (isWrong(expiresAt, scheduledFor ?? now, LONGEST_HOLD)) return no('create_transfer_schema', "'expires_at' is ");
    return null;
  }

  /** Returns the first reason to refuse a transfer. A scheduled transfer is compared with the books only when it is due. */
  refuseTransfer(asked: AskedTransfer, isDue: boolean): Refused | null {
    const { books } = this;
    const { program, type, amount } = asked;
    if (this.isDisabled(program, type)) return no('service_disabled');
    const card = books.cards.get(asked.card);
    if (card?.program !== program) return no('card_not_found', `'${asked.card}'`);
    const other = asked.destination === null ? undefined : books.cards.get(asked.destination);
    if (asked.destination !== null && other?.program !== program) return no('card_not_found', `'${asked.destination}'`);
    // A processor moves money immediately, and never between two cards.
    const isElsewhere = card.isElsewhere || other?.isElsewhere === true;
    if (isElsewhere && (type === 'card_to_card' || asked.capture === 'manual')) return no('connector_not_supported');
    const refused = this.refuseStates(asked);
    if (refused !== null) return refused;
    if (asked.currency !== null && asked.currency !== card.currency) return no('currency_mismatch', "'currency' is");
    if (other !== undefined && other.currency !== card.currency) return no('currency_mismatch', 'Both cards');
    if (this.#isTaken(asked)) return no('duplicate_reference');
    const route = { ...asked, currency: card.currency };
    const limits = books.limitsOf(route);
    const small = limits.find(({ name, value }) => name === 'minimum_amount' && amount < value);
    if (small !== undefined) return no('amount_too_small', nameOf(small));
    const large = limits.find(({ name, value }) => name === 'maximum_amount' && amount > value);
    if (large !== undefined) return no('amount_too_large', nameOf(large));
    return isDue ? this.#refuseBooks(route, amount, limits) : null;
  }

  #refuseBooks(route: Route, amount: bigint, limits: readonly StandingLimit[]): Refused | null {
    const { books } = this;
    const full = limits.find(({ name, left }) => left !== null && left < (name.endsWith('count') ? 1n : amount));
    if (full !== undefined) return no('limit_exceeded', nameOf(full));
    const refused = this.#refuseRoom(route, amount, 0n);
    if (refused !== null) return refused;
    const source = sourceOf(route);
    // The ledger does not have the balance of a processor's card.
    const isShort = books.cards.get(source)?.isElsewhere !== true && books.available(source) < amount;
    return isShort ? no('insufficient_funds') : null;
  }

  /** The refusal of the first card whose status stops the money. */
  refuseStates({ type, card, destination }: Pick<Route, 'type' | 'card' | 'destination'>): Refused | null {
    const refuse = (name: string, direction: Direction): Refused | null => {
      const rule = CARDS[this.books.cardStatus(name)];
      return rule[direction] ? null : no(rule.code, `'${name}'`);
    };
    return refuse(card, type === 'load' ? 'in' : 'out') ?? (destination === null ? null : refuse(destination, 'in'));
  }

  /**
   * Returns the refusal if the receiving account has no room. `own` is the part of the incoming money that this
   * transfer holds.
   */
  #refuseRoom(route: Route, amount: bigint, own: bigint): Refused | null {
    const { books } = this;
    const account = destinationOf(route);
    const card = books.cards.get(account);
    if (card?.isElsewhere === true) return null;
    const { balance, incoming } = books.sums(account);
    const total = balance + incoming - own + amount;
    const most = card === undefined ? null : books.maximumBalance(account);
    if (most !== null && total > most.value) return no('limit_exceeded', nameOf({ ...most, name: 'maximum_balance' }));
    return total > LARGEST_BALANCE ? no('limit_exceeded', 'would exceed the maximum balance') : null;
  }

  #isTaken({ program, reference }: Pick<AskedTransfer, 'program' | 'reference'>): boolean {
    return this.namesakes(program, reference).some((one) => !WITHOUT_REFERENCE.includes(this.books.status(one)));
  }

  /** All transfers with this reference. */
  namesakes(program: string, reference: string | null): readonly Transfer[] {
    if (reference === null) return [];
    return [...this.books.transfers.values()].filter((one) => one.program === program && one.reference === reference);
  }

  isDisabled(program: string, type: TransferType): boolean {
    return this.switches.some(
      (setting) =>
        setting.disabled &&
        (setting.until === null || setting.until > this.books.now) &&
        (setting.program === null || setting.program === program) &&
        (setting.type === null || setting.type === type),
    );
  }

  #create(id: string, asked: AskedTransfer): void {
    const { scheduledFor, capture } = asked;
    const { currency, isElsewhere } = this.books.card(asked.card);
    const expiresAt = asked.expiresAt ?? (scheduledFor ?? this.books.now) + USUAL_HOLD;
    this.#keep(id, { ...asked, currency, isElsewhere, expiresAt: capture === 'manual' ? expiresAt : null });
    if (scheduledFor === null) this.#begin(id);
  }

  #keep(id: string, asked: AskedTransfer & Pick<Transfer, 'currency' | 'isElsewhere'>): void {
    const nothing = { countedOn: null, captured: 0n, reversals: [], errorCode: null, completedAt: null };
    this.books.keep(id, { ...asked, ...nothing, status: 'scheduled', updatedAt: this.books.now });
  }

  #begin(id: string): void {
    const { program, capture, isElsewhere, amount } = this.books.transfer(id);
    this.books.change(id, { status: 'pending', countedOn: this.books.today(program) });
    if (capture === 'automatic' && !isElsewhere) this.#complete(id, amount);
  }

  #complete(id: string, captured: bigint): void {
    this.books.change(id, { status: 'completed', captured, completedAt: this.books.now });
  }

  #report(id: string, wasExecuted: boolean): void {
    if (wasExecuted) this.#complete(id, this.books.transfer(id).amount);
    else this.fail(id, null);
  }

  fail(id: string, errorCode: string | null): void {
    this.books.change(id, { status: 'failed', errorCode });
  }

  // Changing a transfer.

  #refuseMove(change: Extract<Change, { transfer: string }>, transfer: Transfer): Refused | null {
    const status = this.books.status(transfer);
    const waits = transfer.isElsewhere && status === 'pending';
    const isDisabled = this.isDisabled(transfer.program, transfer.type);
    switch (change.does) {
      case 'capture':
        if (isDisabled) return no('service_disabled');
        if (waits) return WAITS;
        if (status !== 'pending') return this.#refuseStatus(transfer);
        return this.#refuseCapture(transfer, change.amount ?? transfer.amount);
      case 'cancel':
        if (waits) return WAITS;
        return status === 'pending' || status === 'scheduled' ? null : this.#refuseStatus(transfer);
      case 'expire':
        return transfer.status === 'pending' && status === 'expired' ? null : no('invalid_transfer_status');
      case 'execute':
        if (status !== 'scheduled' || (transfer.scheduledFor ?? 0) > this.books.now)
          return no('invalid_transfer_status');
        return isDisabled && !this.#isOver(transfer) ? no('service_disabled') : null;
      case 'reverse':
        return isDisabled ? no('service_disabled') : this.#refuseReversal(transfer, change.amount);
      default:
        return null;
    }
  }

  #refuseCapture(transfer: Transfer, amount: bigint): Refused | null {
    if (amount > transfer.amount) return no('amount_too_large');
    return this.refuseStates(transfer) ?? this.#refuseRoom(transfer, amount, transfer.amount);
  }

  #refuseReversal(transfer: Transfer, asked: bigint | null): Refused | null {
    const { books } = this;
    if (transfer.status !== 'completed') return this.#refuseStatus(transfer);
    const left = transfer.captured - sum(transfer.reversals);
    if (left === 0n) return no('invalid_transfer_status', 'have already been reversed');
    if (transfer.isElsewhere) return no('connector_not_supported');
    const amount = asked ?? left;
    if (amount > left) return no('amount_too_large');
    const [giver, receiver] = [destinationOf(transfer), sourceOf(transfer)];
    if (books.cards.has(receiver) && books.cardStatus(receiver) === 'closed') return no('card_closed');
    const { balance, incoming } = books.sums(receiver);
    if (balance + incoming + amount > LARGEST_BALANCE) return no('limit_exceeded');
    return books.available(giver) < amount ? no('insufficient_funds') : null;
  }

  /** The refusal for a transfer whose status does not allow the change, with the beginning of the message. */
  #refuseStatus(transfer: Transfer): Refused {
    const status = this.books.status(transfer);
    const since = { completed: transfer.completedAt, expired: transfer.expiresAt };
    const time = status === 'completed' || status === 'expired' ? since[status] : null;
    const standing = time === null ? `is ${status}` : `has been ${status} since ${new Date(time).toISOString()}`;
    return no('invalid_transfer_status', `${standing} and cannot`);
  }

  /** Whether a scheduled transfer is so late that its hold would already be over. */
  #isOver({ expiresAt }: Transfer): boolean {
    return expiresAt !== null && expiresAt <= this.books.now;
  }

  /** Executes a due transfer, or begins its hold. If it would be refused now, it fails. */
  #execute(id: string): void {
    const transfer = this.books.transfer(id);
    const isOver = this.#isOver(transfer);
    const refused = isOver ? null : this.refuseTransfer({ ...transfer, reference: null }, true);
    if (isOver) this.books.change(id, { status: 'expired' });
    else if (refused === null) this.#begin(id);
    else this.fail(id, refused.code);
  }

  // Attempts, cards, programs and funding.

  #refuseResolution(attempt: string, wasExecuted: boolean): Refused | null {
    const { status } = this.attempts.get(attempt) ?? {};
    if (status === undefined) return no('attempt_not_found');
    if (ATTEMPTS[status] === 'open') return null;
    return ATTEMPTS[status] === (wasExecuted ? 'executed' : 'failed') ? UNCHANGED : no('invalid_attempt_status');
  }

  #refuseCard(change: Extract<Change, { does: 'update_card' }>): Refused | null {
    const { books } = this;
    const takesAlong = (change.balanceTo ?? null) !== null;
    if (takesAlong && this.isDisabled(change.program, 'unload')) return no('service_disabled');
    const card = books.cards.get(change.card);
    if (card === undefined) return no('card_not_found');
    const status = change.status ?? card.status;
    const expiresOn = change.expiresOn ?? card.expiresOn;
    const isSame =
      status === card.status && expiresOn === card.expiresOn && isSameLimits(change.limits ?? card.limits, card.limits);
    if (card.status === 'closed') return isSame ? UNCHANGED : no('invalid_card_status');
    // A later last day gives an expired card its earlier status back, before its status changes.
    const from = books.cardStatus(change.card, expiresOn);
    const isRequested = (change.status ?? null) !== null && status !== from;
    if (isRequested && !CARDS[from].next.split(' ').includes(status)) return no('invalid_card_status');
    if (isSame) return UNCHANGED;
    return status === 'closed' ? this.#refuseClosing(change.card, takesAlong) : null;
  }

  #refuseClosing(name: string, takesAlong: boolean): Refused | null {
    const { balance, held, incoming } = this.books.sums(name);
    if (held > 0n || incoming > 0n) return no('card_not_empty');
    const { program, currency, isElsewhere } = this.books.card(name);
    if (balance === 0n || isElsewhere) return null;
    if (!takesAlong) return no('card_not_empty');
    if (balance > LARGEST_AMOUNT) return no('limit_exceeded');
    return this.#refuseRoom({ program, currency, type: 'unload', card: name, destination: null }, balance, 0n);
  }

  /** Changes a card. The balance of a closed card goes to funding. No limit counts this transfer. */
  #updateCard({ card: name, status, expiresOn, limits, sweep }: CardChange): void {
    const card = this.books.card(name);
    const { program, currency, isElsewhere } = card;
    const { balance } = this.books.sums(name);
    if (status === 'closed' && card.status !== 'closed' && balance > 0n && !isElsewhere) {
      const terms = { capture: 'automatic', reference: null, expiresAt: null, scheduledFor: null } as const;
      const unload = { program, type: 'unload', card: name, destination: null, amount: balance } as const;
      this.#keep(sweep, { ...unload, ...terms, currency, isElsewhere });
      this.#complete(sweep, balance);
    }
    card.status = status ?? card.status;
    card.expiresOn = expiresOn ?? card.expiresOn;
    card.limits = limits ?? card.limits;
  }

  #isProgram({ program, limits, cardLimits, threshold }: Extract<Change, { does: 'update_program' }>): boolean {
    const before = this.books.program(program);
    return (
      (limits === undefined || isSameLimits(limits, before.limits)) &&
      (cardLimits === undefined || isSameLimits(cardLimits, before.cardLimits)) &&
      (threshold === undefined || threshold === before.threshold)
    );
  }

  #refuseMovement(change: Extract<Change, { does: 'deposit' | 'withdraw' }>): Refused | null {
    const { program, currency, amount, reference } = change;
    const { books } = this;
    if (reference !== null && this.#movementReferences.has(`${program} ${reference}`)) return no('duplicate_reference');
    const funding = fundingOf(program, currency);
    if (change.does === 'withdraw') return books.available(funding) < amount ? no('insufficient_funds') : null;
    const { balance, incoming } = books.sums(funding);
    const isTooMuch = balance + incoming + amount > LARGEST_BALANCE;
    const isTooLow = books.sums(worldOf(program, currency)).balance - amount < -LARGEST_BALANCE;
    return isTooMuch || isTooLow ? no('limit_exceeded') : null;
  }
}

/** The words of a refusal for a limit. */
export function nameOf({ name, source }: { readonly name: string; readonly source: LimitSource }): string {
  return `'${name}' limit (${WHOSE[source]})`;
}

/** Whether two sets of limits are equal. Null equals a set without values. */
function isSameLimits(one: Limits | null, other: Limits | null): boolean {
  const listed = (limits: Limits | null): readonly (bigint | null | undefined)[] => [
    limits?.maximumBalance ?? null,
    ...LIMIT_NAMES.flatMap((name) => [limits?.in[name], limits?.out[name]]),
  ];
  const others = listed(other);
  return listed(one).every((value, index) => value === others[index]);
}
