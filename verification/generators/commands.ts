import { CARD_STATUS_CODES, CARD_STATUSES, type CardStatus } from '../../domain/cards/card.ts';
import { type LimitName, PERIODS, type Period } from '../../domain/ledger/limits.ts';
import type { Random } from '../../test/harness/random.ts';
import { type Books, LIMIT_NAMES, LIMITS, sum, type Transfer } from '../model/books.ts';
import { dayIn, nextPeriodAfter, periodOf } from '../model/calendar.ts';
import type { Command, LimitChange, Request } from '../model/commands.ts';
import { LARGEST_AMOUNT, type Model, type Refused } from '../model/model.ts';

export type Kind = Command['does'];

/**
 * The share of transfers that are scheduled, the share of holds with an expiry time, and how many milliseconds ahead these times
 * are.
 */
export type Times = { readonly scheduled: number; readonly ending: number; readonly ahead: (random: Random) => number };

/** The commands that a generator produces. */
export type Workload = {
  /** The kinds of commands. A kind that is listed twice is drawn twice as often. */
  readonly kinds: readonly Kind[];
  /** Multiplies amounts. With 1, most transfers move at most 20 minor units. */
  readonly scale: number;
  /** The share of transfers that hold money first. */
  readonly manual: number;
  readonly times: Times | null;
  /** The fields of programs that commands change. */
  readonly members: readonly ('name' | 'threshold' | 'limit' | 'cardLimit')[];
  /** Whether deposits and withdrawals have references. */
  readonly namesMovements: boolean;
  /** Returns the outcomes that an operator can report for attempts at a processor. Undefined without a processor. */
  readonly findResolvable?: ((isWrong: boolean) => readonly Request[]) | undefined;
};

/** The records that commands name. The lists may grow. */
export type Known = {
  readonly now: number;
  /** The programs of the model, by name. Most commands name the first. */
  readonly programs: readonly { readonly program: string; readonly cards: readonly KnownCard[] }[];
  readonly transfers: readonly { readonly id: string; readonly program: string }[];
  readonly webhooks: readonly { readonly id: string; readonly program: string }[];
  /** If the model is known, most commands fit its state, and a few name cards that do not exist or have a different currency. */
  readonly model?: Model;
};

export type KnownCard = { readonly name: string; readonly currency: string };

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/**
 * The lowest value of each limit, and the size of the range above this value. One or a few transfers use up a limit.
 */
const RANGES: Readonly<Record<LimitName | 'maximum_balance', readonly [from: number, below: number]>> = {
  daily_amount: [10, 40],
  daily_count: [1, 3],
  weekly_amount: [15, 50],
  weekly_count: [1, 4],
  monthly_amount: [20, 60],
  monthly_count: [2, 4],
  minimum_amount: [1, 4],
  maximum_amount: [10, 30],
  maximum_balance: [20, 60],
};

/** The limits of a card. */
export const CARD_LIMITS = Object.keys(RANGES) as readonly (keyof typeof RANGES)[];

/** The limits of a program for all its cards together. Only limits of periods exist there. */
export const PERIOD_LIMITS = CARD_LIMITS.filter((name) => name !== 'maximum_balance' && LIMITS[name][0] !== null);

/** The shortest period is drawn most often. */
const OFTEN_ENDED = PERIODS.flatMap((period, index) => new Array<Period>(PERIODS.length - index).fill(period));

const TYPES = ['load', 'load', 'unload', 'card_to_card'] as const;
/** A processor moves no money between cards. */
const TYPES_AT_PROCESSOR = ['load', 'load', 'unload'] as const;

/** The weights of each status, in usual and in rare requests. */
const STATUSES: Readonly<Record<CardStatus, readonly [usual: number, rare: number]>> = {
  preactive: [0, 0],
  active: [2, 1],
  inactive: [2, 1],
  lost: [1, 0],
  stolen: [0, 1],
  fraud: [0, 1],
  expired: [0, 0],
  closed: [1, 1],
};
const statusesBy = (column: 0 | 1): readonly CardStatus[] =>
  CARD_STATUSES.flatMap((status) => new Array<CardStatus>(STATUSES[status][column]).fill(status));
const [USUAL_STATUSES, RARE_STATUSES] = [statusesBy(0), statusesBy(1)];

/** Returns a random value for a limit. */
export function drawLimit(random: Random, name: keyof typeof RANGES, scale: number): bigint {
  const [from, below] = RANGES[name];
  const unit = name.endsWith('count') ? 1 : scale;
  return BigInt(from * unit + random.below(below * unit));
}

/** Repeats each kind as often as its weight says. */
export function weighed(weights: Readonly<Partial<Record<Kind, number>>>): readonly Kind[] {
  return Object.entries(weights).flatMap(([kind, weight]) => new Array<Kind>(weight).fill(kind as Kind));
}

/** Generates random commands. */
export class Commands {
  readonly #random: Random;
  readonly #known: Known;
  readonly #workload: Workload;
  #count = 0;

  constructor(random: Random, known: Known, workload: Workload) {
    this.#random = random;
    this.#known = known;
    this.#workload = workload;
  }

  next(): Command {
    const random = this.#random;
    const does = random.pick(this.#workload.kinds);
    switch (does) {
      case 'create':
        return this.#create();
      case 'capture':
      case 'reverse':
      case 'cancel':
      case 'update_transfer':
        return this.#changeTransfer(does);
      case 'update_card':
      case 'limit_card':
        return this.#changeCard(does);
      case 'update_program':
        return this.#updateProgram();
      case 'deposit':
      case 'withdraw': {
        const [program, cards] = this.#program();
        const currency = this.#rarely(0.5) ? random.pick(cards).currency : (cards[0]?.currency ?? '');
        const amount = this.#amount(60);
        const isNamed = this.#workload.namesMovements && random.chance(0.2);
        return { does, program, currency, amount, reference: isNamed ? `movement ${random.below(3)}` : null };
      }
      case 'change_switch':
        return this.#changeSwitch();
      case 'resolve': {
        const found = this.#workload.findResolvable?.(random.chance(0.1)) ?? [];
        return found.length === 0 ? this.#create() : random.pick(found);
      }
      case 'create_webhook':
      case 'update_webhook':
      case 'delete_webhook':
        return this.#changeWebhook(does);
      case 'wait_until':
        return { does, now: this.#later() };
    }
  }

  /** Decides at random whether to generate a rare command. Always false if the model is unknown. */
  #rarely(probability: number): boolean {
    return this.#known.model !== undefined && this.#random.chance(probability);
  }

  #program(): readonly [program: string, cards: readonly KnownCard[]] {
    const [first, second = first] = this.#known.programs;
    const found = this.#random.chance(0.85) ? first : second;
    return [found?.program ?? '', found?.cards ?? []];
  }

  /** Returns a card. If the model is known, it is mostly one of the first two, so that one command affects the next. */
  #card(cards: readonly KnownCard[]): KnownCard {
    if (this.#rarely(0.025)) return { name: 'nobody', currency: '' };
    return this.#random.pick(this.#rarely(0.7) ? cards.slice(0, 2) : cards);
  }

  #amount(most: number): bigint {
    return BigInt(1 + this.#random.below(most * this.#workload.scale));
  }

  #soon(from: number, { ahead }: Times): number {
    return Math.round(from) + ahead(this.#random);
  }

  #create(): Command {
    const random = this.#random;
    const { findResolvable, times, manual } = this.#workload;
    const [program, cards] = this.#program();
    const isAtProcessor = findResolvable !== undefined && random.chance(0.8);
    const drawn = random.pick(isAtProcessor ? TYPES_AT_PROCESSOR : TYPES);
    const card = this.#card(cards);
    const destination = drawn === 'card_to_card' ? this.#destination(cards, card) : null;
    const type = drawn === 'card_to_card' && destination === null ? 'load' : drawn;
    const most = random.chance(0.3) ? 120 : 20;
    const amount = this.#rarely(0.02) ? random.pick([1n, LARGEST_AMOUNT]) : this.#amount(most);
    const isHeld = random.chance(manual);
    const { now } = this.#known;
    const scheduledFor = times !== null && random.chance(times.scheduled) ? this.#soon(now, times) : null;
    const isEnding = times !== null && isHeld && random.chance(times.ending);
    const expiresAt = isEnding ? this.#soon(scheduledFor ?? now, times) : null;
    const capture = isHeld ? 'manual' : 'automatic';
    const reference = random.chance(this.#known.model === undefined ? 0.1 : 0.2) ? `order ${random.below(3)}` : null;
    const currency = this.#rarely(0.03) ? random.pick(cards).currency : null;
    const terms = { amount, currency, reference, capture, expiresAt, scheduledFor } as const;
    return {
      ...{ does: 'create', program, asked: { program, type, card: card.name, destination, ...terms } },
      waits: findResolvable !== undefined && random.chance(0.2) ? 1 + random.below(8) : null,
      isPoison: random.chance(0.03),
    };
  }

  /** Returns another card, mostly in the same currency. */
  #destination(cards: readonly KnownCard[], { name, currency }: KnownCard): string | null {
    if (this.#rarely(0.03)) return 'nobody of nobody';
    const others = cards.filter((other) => other.name !== name);
    const isMixed = currency === '' || this.#rarely(0.03);
    const fitting = isMixed ? others : others.filter((other) => other.currency === currency);
    return fitting.length === 0 ? null : this.#random.pick(fitting).name;
  }

  /** Returns a change of a transfer, mostly of a recent one, so that several commands change the same transfer. */
  #changeTransfer(does: keyof typeof APT): Command {
    const random = this.#random;
    const { model, transfers } = this.#known;
    if (transfers.length === 0) return this.#create();
    const apt = this.#rarely(0.8) ? this.#suitable(APT[does]) : transfers;
    const wanted = apt.length === 0 ? transfers : apt;
    const { id: transfer, program } = random.pick(
      random.chance(model === undefined ? 0.8 : 0.5) ? wanted.slice(-3) : wanted,
    );
    if (does === 'cancel') return { does, program, transfer };
    if (does === 'update_transfer') {
      this.#count += 1;
      return { does, program, transfer, name: random.pick(['color', 'order']), value: `v${this.#count}` };
    }
    return { does, program, transfer, amount: random.chance(0.5) ? this.#part(transfer) : null };
  }

  #part(transfer: string): bigint {
    const whole = this.#rarely(0.3) ? this.#known.model?.books.transfers.get(transfer)?.amount : undefined;
    if (whole === undefined) return this.#amount(20);
    const near = whole + this.#random.pick([-1n, 0n, 1n]) || 1n;
    return near > LARGEST_AMOUNT ? LARGEST_AMOUNT : near;
  }

  /** Returns the known transfers that meet a condition. */
  #suitable(isSuitable: (transfer: Transfer, books: Books) => boolean): Known['transfers'] {
    const { books } = this.#known.model ?? {};
    return this.#known.transfers.filter(({ id }) => {
      const transfer = books?.transfers.get(id);
      return books !== undefined && transfer !== undefined && isSuitable(transfer, books);
    });
  }

  #changeCard(does: 'update_card' | 'limit_card'): Command {
    const random = this.#random;
    const [program, cards] = this.#program();
    if (does === 'update_card') {
      const { name: card } = this.#card(cards);
      const expiresOn = this.#rarely(0.2) ? this.#dayAhead() : null;
      const status = expiresOn !== null && random.chance(0.6) ? null : this.#status();
      const balanceTo = status === 'closed' && !this.#rarely(0.4) ? 'funding' : null;
      return { does, program, card, status, expiresOn, balanceTo };
    }
    const { name: card } = random.pick(cards);
    return { does, program, card, limit: this.#limitOfCard(card) };
  }

  #status() {
    return this.#random.pick(this.#rarely(0.4) ? RARE_STATUSES : USUAL_STATUSES);
  }

  #dayAhead(): string {
    return new Date(this.#known.now + (this.#random.below(42) - 1) * DAY).toISOString().slice(0, 'YYYY-MM-DD'.length);
  }

  /** Returns a change of a limit. If the model is known, often sets a maximum balance near the current balance. */
  #limitOfCard(card: string): LimitChange {
    const { model } = this.#known;
    if (model === undefined || !this.#random.chance(0.6)) return this.#limit(CARD_LIMITS);
    const { balance, incoming } = model.books.sums(card);
    const most = balance + incoming - this.#amount(12) + this.#amount(3);
    return { direction: null, name: 'maximum_balance', value: most > 0n ? most : 0n };
  }

  /** Returns a change of one of these limits. A few changes remove the limit. */
  #limit(names: readonly (keyof typeof RANGES)[]): LimitChange {
    const random = this.#random;
    const name = random.pick(names);
    const direction = name === 'maximum_balance' ? null : random.pick(['in', 'out'] as const);
    return { direction, name, value: random.chance(0.15) ? null : drawLimit(random, name, this.#workload.scale) };
  }

  #updateProgram(): Command {
    const random = this.#random;
    const [program] = this.#program();
    const does = 'update_program';
    const member = random.pick(this.#workload.members);
    this.#count += 1;
    if (member === 'name') return { does, program, name: `Program ${this.#count}` };
    if (member === 'limit') return { does, program, limit: this.#limit(PERIOD_LIMITS) };
    if (member === 'cardLimit') return { does, program, cardLimit: this.#limit(CARD_LIMITS) };
    return { does, program, threshold: random.chance(0.2) ? null : BigInt(60 + random.below(70)) };
  }

  /** Returns a setting for all programs, for one program, or for one transfer type of a program. */
  #changeSwitch(): Command {
    const random = this.#random;
    const scope = random.pick(['service', 'program', 'program', 'load', 'unload', 'card_to_card'] as const);
    const disabled = random.chance(0.5);
    const until = disabled && random.chance(0.5) ? this.#endOfSwitch() : null;
    const [own] = this.#program();
    const type = scope === 'service' || scope === 'program' ? null : scope;
    const setting = { program: scope === 'service' ? null : own, type, disabled, until };
    return { does: 'change_switch', program: own, setting };
  }

  #endOfSwitch(): number {
    const { ahead = aheadInSeconds } = this.#workload.times ?? {};
    return Math.round(this.#known.now) + Math.max(2, ahead(this.#random));
  }

  #changeWebhook(does: 'create_webhook' | 'update_webhook' | 'delete_webhook'): Command {
    const random = this.#random;
    const { id: webhook, program } = random.pick(this.#known.webhooks);
    if (does === 'create_webhook') return { does, program, fromFirst: random.chance(0.5) };
    if (does === 'delete_webhook') return { does, program, webhook };
    const status = random.pick(['enabled', 'disabled'] as const);
    return { does, program, webhook, status, skips: status === 'enabled' && random.chance(0.4) };
  }

  /** Returns a later time, mostly close to the start or the end of something. A sandbox's clock can also be set back. */
  #later(): number {
    const random = this.#random;
    const { now, model } = this.#known;
    const near = random.pick([-1, 0, 0, 1]);
    const drawn = random.below(18);
    if (drawn < 4) {
      const period = random.pick(OFTEN_ENDED);
      return nextPeriodAfter(now, period, model?.books.program(this.#program()[0]).zone ?? 'UTC') + near;
    }
    if (drawn < 10) {
      const open = this.#suitable(APT.cancel);
      const { scheduledFor = null, expiresAt = null } =
        open.length === 0 ? {} : (model?.books.transfer(random.pick(open).id) ?? {});
      const time = random.chance(0.5) ? (scheduledFor ?? expiresAt) : (expiresAt ?? scheduledFor);
      if (time !== null) return time + near;
    }
    const until = model?.switches.at(-1)?.until ?? null;
    if (drawn < 11 && until !== null) return until + near;
    if (drawn < 12) return now - (1 + random.below(72)) * HOUR;
    if (drawn < 13) return now + (1 + random.below(20)) * DAY + 1;
    return now + (random.chance(0.5) ? (1 + random.below(30)) * HOUR : (1 + random.below(90)) * 1000);
  }
}

/** Returns a number of milliseconds up to about two seconds, often only a few. */
export function aheadInSeconds(random: Random): number {
  return 2 + random.below(random.chance(0.3) ? 30 : 2_000);
}

/** The transfers that fit each command. The command may still be refused for other reasons. */
const APT = {
  capture: (transfer: Transfer, books: Books) => books.status(transfer) === 'pending',
  cancel: (transfer: Transfer, books: Books) => ['pending', 'scheduled'].includes(books.status(transfer)),
  reverse: ({ captured, reversals }: Transfer) => captured > sum(reversals),
  update_transfer: () => true,
};

/** All refusals that commands of each kind can get. The tests of an environment check that each refusal of its kinds occurred. */
export const REFUSALS: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  create: [
    ...['create_transfer_schema', 'service_disabled', 'card_not_found', 'currency_mismatch', 'duplicate_reference'],
    ...CARD_STATUS_CODES,
    ...['amount_too_small', 'amount_too_large', 'limit_exceeded', 'insufficient_funds'],
  ],
  capture: [
    ...['invalid_transfer_status', 'service_disabled', 'amount_too_large', 'limit_exceeded'],
    // Cards with these two statuses have no holds to capture.
    ...CARD_STATUS_CODES.filter((code) => code !== 'card_not_activated' && code !== 'card_closed'),
  ],
  cancel: ['invalid_transfer_status'],
  reverse: ['invalid_transfer_status', 'service_disabled', 'amount_too_large', 'card_closed', 'insufficient_funds'],
  update_card: ['card_not_found', 'invalid_card_status', 'card_not_empty'],
  withdraw: ['insufficient_funds', 'duplicate_reference'],
  update_webhook: ['webhook_not_found'],
  delete_webhook: ['webhook_not_found'],
};

/** Counts the generated commands and their refusals. */
export class Coverage {
  readonly #counts = new Map<string, number>();

  count(what: string): void {
    this.#counts.set(what, this.timesOf(what) + 1);
  }

  timesOf(what: string): number {
    return this.#counts.get(what) ?? 0;
  }

  /** Counts each period of limits that ended between two times. */
  noteTime(before: number, after: number, zone: string): void {
    const nameAt = (period: Period, time: number): string => periodOf(period, dayIn(zone, time));
    for (const period of PERIODS)
      if (after > before && nameAt(period, before) !== nameAt(period, after)) this.count(`ended ${period}`);
  }

  note(command: Command, refused: Refused | null): void {
    this.count(`produced ${command.does}`);
    const { limit = null, cardLimit = null } = command as { limit?: LimitChange; cardLimit?: LimitChange };
    for (const change of [limit, cardLimit]) if (change !== null) this.count(`produced limit ${change.name}`);
    if (refused === null) return;
    this.count(`refused ${command.does} ${refused.code}`);
    const [, name] = /^'(\w+)' limit/.exec(refused.about ?? '') ?? [];
    if (name !== undefined) this.count(`refused for limit ${name}`);
  }

  /** Returns the kinds, limits, periods and refusals of a workload that occurred less often than `atLeast`. */
  missing({ kinds }: Workload, atLeast: number): readonly string[] {
    const own = [...new Set(kinds)];
    const limits = own.includes('limit_card') ? [...LIMIT_NAMES, 'maximum_balance'] : [];
    const wanted = [
      ...own.flatMap((kind) => [
        `produced ${kind}`,
        ...(REFUSALS[kind] ?? []).map((code) => `refused ${kind} ${code}`),
      ]),
      ...(own.includes('wait_until') ? PERIODS.map((period) => `ended ${period}`) : []),
      ...limits.flatMap((name) => [`produced limit ${name}`, `refused for limit ${name}`]),
    ];
    return wanted.filter((what) => this.timesOf(what) < atLeast).map((what) => `${what}: ${this.timesOf(what)}`);
  }
}
