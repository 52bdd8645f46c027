import type { CardStatus } from '../../domain/cards/card.ts';
import type { LimitName, Limits } from '../../domain/ledger/limits.ts';
import type { TransferStatus } from '../../domain/transfers/transfer.ts';
import { dayIn, nextPeriodAfter, periodOf } from '../harness/local-time.ts';
import { type AskedTransfer, CURRENCIES, type Opening } from './transfer-steps.ts';

/** A transfer as the model keeps it: what was asked, and what became of it so far. */
export type KeptTransfer = Omit<AskedTransfer, 'currency'> & {
  readonly currency: string;
  /** As written down; a hold past its end is still `pending` here until the loop has come by. */
  status: TransferStatus;
  /** The day on which it was counted towards limits; null before it holds or moves anything. */
  countedOn: string | null;
  captured: bigint;
  readonly reversals: bigint[];
  errorCode: string | null;
  updatedAt: number;
  completedAt: number | null;
};

/** What says between which accounts the money of a transfer goes. */
export type Route = Pick<KeptTransfer, 'type' | 'card' | 'destination' | 'currency'>;

/** Which way money goes, seen from a card, or from all cards together. */
export type Direction = 'in' | 'out';

/** A limit that applies to somebody, and how it stands. */
export type StandingLimit = {
  readonly name: LimitName;
  readonly value: bigint;
  readonly source: 'card' | 'program_card' | 'program';
  readonly used: bigint | null;
  readonly left: bigint | null;
  readonly freesAt: number | null;
};

/** A card as the model keeps it. */
export type KeptCard = {
  readonly currency: string;
  expiresOn: string | null;
  status: CardStatus;
  limits: Limits | null;
};

/** The names of limits in the order of responses, with what each is about. */
const LIMITS: readonly (readonly [LimitName, 'day' | 'week' | 'month' | null, 'amount' | 'count'])[] = [
  ['minimum_amount', null, 'amount'],
  ['maximum_amount', null, 'amount'],
  ['daily_amount', 'day', 'amount'],
  ['daily_count', 'day', 'count'],
  ['weekly_amount', 'week', 'amount'],
  ['weekly_count', 'week', 'count'],
  ['monthly_amount', 'month', 'amount'],
  ['monthly_count', 'month', 'count'],
];

/**
 * The books of the model: a list of transfers, from which every balance, hold and use of a limit is added up anew
 * whenever it is asked for.
 */
export class ModelBooks {
  readonly transfers: KeptTransfer[] = [];
  readonly deposits: { readonly currency: string; readonly amount: bigint }[] = [];
  readonly cards: ReadonlyMap<string, KeptCard>;
  /** The limits of the program for all of its cards together, and for each of them. */
  limits: Limits | null;
  cardLimits: Limits | null;
  now: number;
  readonly #opening: Opening;

  constructor(opening: Opening) {
    this.#opening = opening;
    this.now = opening.now;
    this.limits = opening.limits;
    this.cardLimits = opening.cardLimits;
    this.cards = new Map(opening.cards.map(({ name, ...card }) => [name, { ...card }]));
  }

  /** The day, where the program is. */
  today(): string {
    return dayIn(this.#opening.zone, this.now);
  }

  card(name: string): KeptCard {
    const card = this.cards.get(name);
    if (card === undefined) throw new Error(`there is no card ${name}`);
    return card;
  }

  /** The state of a card today: one that could still be used, or be used again, expires after its last day. */
  cardStatus(name: string, expiresOn = this.card(name).expiresOn): CardStatus {
    const { status } = this.card(name);
    const isOver = expiresOn !== null && this.today() > expiresOn;
    return isOver && ['preactive', 'active', 'inactive'].includes(status) ? 'expired' : status;
  }

  /** The state of a transfer to everybody who asks. */
  status(transfer: KeptTransfer): TransferStatus {
    const isOver = transfer.status === 'pending' && transfer.expiresAt !== null && transfer.expiresAt <= this.now;
    return isOver ? 'expired' : transfer.status;
  }

  // Accounts are 'world USD', 'funding USD', and cards by their names.

  accounts(): readonly string[] {
    return [...CURRENCIES.flatMap((currency) => [`world ${currency}`, `funding ${currency}`]), ...this.cards.keys()];
  }

  balance(account: string): bigint {
    let balance = this.#opened(account).reduce((total, amount) => total + amount, 0n);
    for (const { currency, amount } of this.deposits) {
      if (account === `funding ${currency}`) balance += amount;
      if (account === `world ${currency}`) balance -= amount;
    }
    for (const transfer of this.transfers) {
      const moved = transfer.captured - sum(transfer.reversals);
      if (destinationOf(transfer) === account) balance += moved;
      if (sourceOf(transfer) === account) balance -= moved;
    }
    return balance;
  }

  held(account: string): bigint {
    const holds = this.transfers.filter(({ status }) => status === 'pending');
    return sum(holds.filter((hold) => sourceOf(hold) === account).map(({ amount }) => amount));
  }

  incoming(account: string): bigint {
    const holds = this.transfers.filter(({ status }) => status === 'pending');
    return sum(holds.filter((hold) => destinationOf(hold) === account).map(({ amount }) => amount));
  }

  available(account: string): bigint {
    return this.balance(account) - this.held(account);
  }

  /** How many lines the statement of an account has: one for each time that money came or went. */
  lines(account: string): bigint {
    let lines = this.#opened(account).length;
    for (const { currency } of this.deposits) {
      if (account === `funding ${currency}` || account === `world ${currency}`) lines += 1;
    }
    for (const transfer of this.transfers) {
      if (sourceOf(transfer) !== account && destinationOf(transfer) !== account) continue;
      lines += (transfer.completedAt === null ? 0 : 1) + transfer.reversals.length;
    }
    return BigInt(lines);
  }

  /** What was put on an account at the beginning, or taken from the world for it, line by line. */
  #opened(account: string): readonly bigint[] {
    const { funding, cards } = this.#opening;
    const currency = CURRENCIES.find((each) => account.endsWith(` ${each}`));
    const isOpened = (amount: bigint): boolean => amount > 0n;
    const onCards = cards.filter((card) =>
      currency === undefined ? card.name === account : card.currency === currency,
    );
    const balances = onCards.map(({ balance }) => balance).filter(isOpened);
    if (currency === undefined) return balances;
    if (account.startsWith('funding')) return [funding[currency]].filter(isOpened);
    return [...balances, funding[currency]].filter(isOpened).map((amount) => -amount);
  }

  // Limits.

  /** The limits that a transfer is held to, in the order of responses. */
  limitsOf(route: Route): readonly StandingLimit[] {
    const { type, card, destination, currency } = route;
    if (type === 'card_to_card') return [...this.limitsOn(card, 'out'), ...this.limitsOn(destination ?? '', 'in')];
    const direction = type === 'load' ? 'in' : 'out';
    return [...this.limitsOn(card, direction), ...this.limitsOnAll(currency, direction)];
  }

  /** The limits of one card: its own, and where it has none of a name, what its program says of each card. */
  limitsOn(name: string, direction: Direction): readonly StandingLimit[] {
    const { limits, currency } = this.card(name);
    const end = direction === 'in' ? destinationOf : sourceOf;
    const isCounted = (transfer: KeptTransfer): boolean => end(transfer) === name;
    return LIMITS.flatMap(([limit]) => {
      const own = limits?.[direction][limit];
      if (own !== undefined) return [this.#stand(limit, own, 'card', isCounted)];
      const given = currency === 'USD' ? this.cardLimits?.[direction][limit] : undefined;
      return given === undefined ? [] : [this.#stand(limit, given, 'program_card', isCounted)];
    });
  }

  /** The limits of all cards of a currency together. */
  limitsOnAll(currency: string, direction: Direction): readonly StandingLimit[] {
    const type = direction === 'in' ? 'load' : 'unload';
    const isCounted = (transfer: KeptTransfer): boolean => transfer.type === type && transfer.currency === currency;
    return LIMITS.flatMap(([limit]) => {
      const value = currency === 'USD' ? this.limits?.[direction][limit] : undefined;
      return value === undefined ? [] : [this.#stand(limit, value, 'program', isCounted)];
    });
  }

  #stand(
    name: LimitName,
    value: bigint,
    source: StandingLimit['source'],
    isCounted: (transfer: KeptTransfer) => boolean,
  ): StandingLimit {
    const [, period, measure] = LIMITS.find(([limit]) => limit === name) ?? [name, null, 'amount'];
    if (period === null) return { name, value, source, used: null, left: null, freesAt: null };
    const running = periodOf(period, this.today());
    const counted = this.transfers.filter(
      (each) => each.countedOn !== null && isCounted(each) && periodOf(period, each.countedOn) === running,
    );
    // What was released counts no more, what was reversed does; a hold counts whole for as long as it stands.
    const amounts = counted.flatMap(({ status, amount, captured }) => {
      if (status === 'pending') return [amount];
      return status === 'completed' ? [captured] : [];
    });
    const used = measure === 'count' ? BigInt(amounts.length) : sum(amounts);
    const left = used > value ? 0n : value - used;
    return { name, value, source, used, left, freesAt: nextPeriodAfter(this.now, period, this.#opening.zone) };
  }

  /** The most that a card may hold, and who said so. */
  maximumBalance(name: string): { readonly value: bigint; readonly source: 'card' | 'program_card' } | null {
    const { limits, currency } = this.card(name);
    const own = limits?.maximumBalance ?? null;
    if (own !== null) return { value: own, source: 'card' };
    const given = currency === 'USD' ? (this.cardLimits?.maximumBalance ?? null) : null;
    return given === null ? null : { value: given, source: 'program_card' };
  }
}

/** The account that the money of a transfer leaves. */
export function sourceOf({ type, card, currency }: Route): string {
  return type === 'load' ? `funding ${currency}` : card;
}

/** The account that the money of a transfer reaches. */
export function destinationOf({ type, card, destination, currency }: Route): string {
  if (type === 'load') return card;
  return type === 'unload' ? `funding ${currency}` : (destination ?? '');
}

/** What amounts come to together. */
export function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
