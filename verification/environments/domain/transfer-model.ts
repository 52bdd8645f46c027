import type { Direction } from '../../../domain/ledger/limits.ts';
import {
  type Books,
  destinationOf,
  fundingOf,
  LIMITS,
  type StandingLimit,
  sourceOf,
  sum,
  type Transfer,
  worldOf,
} from '../../model/books.ts';
import { nextPeriodAfter } from '../../model/calendar.ts';
import { type Change, LARGEST_AMOUNT, LARGEST_BALANCE, Model as Rules } from '../../model/model.ts';
import {
  accountFact,
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

/** The program of a story. A switch can also be about another one. */
const PROGRAM = 'this';

/** The model's side of a story. Translates steps into changes of the model, and reads its books as a caller would. */
export class Model implements Side {
  readonly #rules = new Rules();
  readonly #zone: string;

  constructor({ now, zone, limits, cardLimits, funding, cards }: Opening) {
    const { books } = this;
    this.#zone = zone;
    books.now = now;
    books.programs.set(PROGRAM, { zone, currency: 'USD', limits, cardLimits, threshold: null });
    for (const currency of CURRENCIES) {
      books.move(worldOf(PROGRAM, currency), fundingOf(PROGRAM, currency), funding[currency]);
    }
    for (const { name, balance, ...card } of cards) {
      books.cards.set(name, { ...card, program: PROGRAM, isElsewhere: false });
      books.move(worldOf(PROGRAM, card.currency), name, balance);
    }
  }

  get books(): Books {
    return this.#rules.books;
  }

  /** The transfers in the order of their creation. */
  get transfers(): readonly Transfer[] {
    return [...this.books.transfers.values()];
  }

  perform(step: Step): Refused | null {
    const change = this.#changeOf(step);
    if (change === undefined) {
      this.#put(step);
      return null;
    }
    const refused = this.#rules.perform(change);
    return refused?.code === 'unchanged' ? null : refused;
  }

  /** Translates a step into a change that the model may refuse. */
  #changeOf(step: Step): Change | undefined {
    const next = String(this.books.transfers.size);
    switch (step.does) {
      case 'create':
        return { does: 'create', id: next, asked: { ...step.asked, program: PROGRAM } };
      case 'update_card':
        return { ...step, program: PROGRAM, sweep: next };
      case 'deposit':
        return { ...step, program: PROGRAM, reference: null };
      case 'switch':
        // A switch may have an end in the past.
        return undefined;
      default:
        return 'transfer' in step ? { ...step, transfer: String(step.transfer) } : undefined;
    }
  }

  /** Sets a state directly, even if the service would not allow it. */
  #put(step: Step): void {
    const { books } = this;
    if (step.does === 'put_card_status') books.card(step.card).status = step.status;
    if (step.does === 'put_card_limits') books.card(step.card).limits = step.limits;
    if (step.does === 'put_program_limits') books.program(PROGRAM)[step.each ? 'cardLimits' : 'limits'] = step.limits;
    if (step.does === 'wait_until') books.now = step.now;
    if (step.does === 'switch') this.#rules.apply({ ...step.setting, does: 'change_switch' });
  }

  overdue() {
    const { now } = this.books;
    const numbers = (isWanted: (transfer: Transfer) => boolean): readonly number[] =>
      this.transfers.flatMap((transfer, index) => (isWanted(transfer) ? [index] : []));
    return {
      expired: numbers((transfer) => transfer.status === 'pending' && this.books.status(transfer) === 'expired'),
      due: numbers(({ status, scheduledFor }) => status === 'scheduled' && (scheduledFor ?? 0) <= now),
    };
  }

  facts(): readonly Fact[] {
    return [...this.#accountFacts(), ...this.#cardFacts(), ...this.#transferFacts(), ...this.#limitFacts()];
  }

  #accountFacts(): readonly Fact[] {
    const { books } = this;
    const ofProgram = CURRENCIES.flatMap((currency) => [
      [`world ${currency}`, worldOf(PROGRAM, currency)] as const,
      [`funding ${currency}`, fundingOf(PROGRAM, currency)] as const,
    ]);
    const ofCards = [...books.cards.keys()].map((name) => [name, name] as const);
    return [...ofProgram, ...ofCards].map(([name, account]) => {
      const { balance, held, incoming, lines } = books.sums(account);
      return accountFact(name, { balance, held, incoming, available: balance - held, lines });
    });
  }

  #cardFacts(): readonly Fact[] {
    const { books } = this;
    return [...books.cards].map(([name, { expiresOn }]) =>
      cardFact(name, { status: books.cardStatus(name), lastDay: expiresOn }),
    );
  }

  #transferFacts(): readonly Fact[] {
    return this.transfers.map((transfer, index) => {
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
        books.limitsOnAll(PROGRAM, currency, direction).map((limit) => this.#limitFact(currency, direction, limit)),
      ),
      ...[...books.cards.keys()].flatMap((name) =>
        books.limitsOn(name, direction).map((limit) => this.#limitFact(name, direction, limit)),
      ),
    ]);
  }

  #limitFact(whose: string, direction: Direction, limit: StandingLimit): Fact {
    const [period] = LIMITS[limit.name];
    const freesAt = period === null ? null : nextPeriodAfter(this.books.now, period, this.#zone);
    return limitFact(whose, direction, { ...limit, freesAt });
  }

  outlook(name: string): readonly Fact[] {
    const { books } = this;
    const most = books.maximumBalance(name);
    const { balance, incoming } = books.sums(name);
    const more = most === null ? 0n : most.value - balance - incoming;
    const onBalance = { value: null, source: null, left: null, ...most, ...(most && { left: more > 0n ? more : 0n }) };
    return [
      ...(['in', 'out'] as const).flatMap((direction) => this.#outlookTo(name, direction)),
      outlookFact(name, 'balance', onBalance),
    ];
  }

  /** Finds the largest amount that can be loaded or unloaded now. Only these amounts, or nothing, are possible. */
  #outlookTo(card: string, direction: Direction): readonly Fact[] {
    const { books } = this;
    const { currency } = books.card(card);
    const type = direction === 'in' ? ('load' as const) : ('unload' as const);
    const route = { program: PROGRAM, type, card, destination: null, currency };
    const limits = books.limitsOf(route);
    const [source, destination] = [sourceOf(route), destinationOf(route)];
    const { balance, incoming } = books.sums(destination);
    const rooms = [LARGEST_BALANCE, books.cards.has(destination) ? books.maximumBalance(destination)?.value : null];
    const bounds = [
      ...limits.flatMap(({ value, left }) => [value, left ?? value]),
      ...rooms.map((room) => (room ?? 0n) - balance - incoming),
      ...[LARGEST_AMOUNT, books.available(source)],
    ].filter((amount) => amount >= 1n && amount <= LARGEST_AMOUNT);
    const terms = { reference: null, capture: 'automatic', expiresAt: null, scheduledFor: null } as const;
    const tried = bounds.filter((amount) => this.#rules.refuseTransfer({ ...route, ...terms, amount }, true) === null);
    const floors = limits.flatMap(({ name, value }) => (name === 'minimum_amount' ? [value] : []));
    const code = this.#rules.refuseStates(route)?.code ?? null;
    return [
      outlookFact(card, direction, { code, most: largest(tried, 0n), least: largest(floors, 1n) }),
      ...limits.map((limit) => this.#limitFact(card, direction, limit)),
    ];
  }
}

function largest(amounts: readonly bigint[], atLeast: bigint): bigint {
  return amounts.reduce((most, amount) => (amount > most ? amount : most), atLeast);
}
