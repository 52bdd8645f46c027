import type { CardStatus } from '../../domain/cards/card.ts';
import type { Direction, LimitName, LimitSource, Limits, Period } from '../../domain/ledger/limits.ts';
import type { Capture, TransferStatus, TransferType } from '../../domain/transfers/transfer.ts';
import { dayIn, periodOf } from './calendar.ts';

/** A card program. Its funding is low when less than `threshold` is available, in the program's currency. */
export type Program = {
  readonly zone: string;
  readonly currency: string;
  /** `limits` apply to all cards together, `cardLimits` to each card. */
  limits: Limits | null;
  cardLimits: Limits | null;
  threshold: bigint | null;
};

/** A card. If `isElsewhere`, a processor has its money, and the account shows the amounts that the processor has approved. */
export type Card = {
  readonly program: string;
  readonly currency: string;
  readonly isElsewhere: boolean;
  status: CardStatus;
  /** The last day of the card, YYYY-MM-DD. */
  expiresOn: string | null;
  limits: Limits | null;
};

/** A requested transfer. Amounts are minor units, times milliseconds since 1970. */
export type AskedTransfer = {
  readonly program: string;
  readonly type: TransferType;
  readonly amount: bigint;
  readonly card: string;
  readonly destination: string | null;
  readonly currency: string | null;
  readonly reference: string | null;
  readonly capture: Capture;
  readonly expiresAt: number | null;
  readonly scheduledFor: number | null;
};

/** Everything that can change about a transfer. */
type Progress = {
  /** As stored: a hold past its expiry time stays `pending` until it is marked as expired. */
  readonly status: TransferStatus;
  /** Limits count the transfer on this local day. Null before it holds or moves money, and for the sweep of a closed card. */
  readonly countedOn: string | null;
  readonly captured: bigint;
  readonly reversals: readonly bigint[];
  readonly errorCode: string | null;
  readonly updatedAt: number;
  readonly completedAt: number | null;
};

/** A transfer and its progress. */
export type Transfer = AskedTransfer & Progress & { readonly currency: string; readonly isElsewhere: boolean };

/** The fields that decide between which two accounts the money moves. */
export type Route = Pick<Transfer, 'program' | 'type' | 'card' | 'destination' | 'currency'>;

/** The number of transfers that a limit counts, and their sum. */
type Used = { readonly amount: bigint; readonly count: bigint };

/** The sums of an account. `counted` is by direction and local day, for limits. */
type Sums = {
  balance: bigint;
  held: bigint;
  incoming: bigint;
  /** The number of lines on its statement. Each movement of money adds one. */
  lines: bigint;
  readonly counted: Map<string, Used>;
};

/**
 * A limit that applies, and its usage in the running period. The usage is null for limits on the size of one transfer.
 */
export type StandingLimit = {
  readonly name: LimitName;
  readonly value: bigint;
  readonly source: LimitSource;
  readonly used: bigint | null;
  readonly left: bigint | null;
};

/** The period and the measure of each limit, in the order of responses. */
export const LIMITS: Readonly<Record<LimitName, readonly [period: Period | null, measure: 'amount' | 'count']>> = {
  minimum_amount: [null, 'amount'],
  maximum_amount: [null, 'amount'],
  daily_amount: ['day', 'amount'],
  daily_count: ['day', 'count'],
  weekly_amount: ['week', 'amount'],
  weekly_count: ['week', 'count'],
  monthly_amount: ['month', 'amount'],
  monthly_count: ['month', 'count'],
};

export const LIMIT_NAMES = Object.keys(LIMITS) as readonly LimitName[];

/** Whether a card expires after its last day. */
const EXPIRES: Readonly<Record<CardStatus, boolean>> = {
  ...{ preactive: true, active: true, inactive: true },
  ...{ lost: false, stolen: false, fraud: false, expired: false, closed: false },
};

/** The accounts of a program. A card's account has the name of the card. */
export const worldOf = (program: string, currency: string): string => `world ${program} ${currency}`;
export const fundingOf = (program: string, currency: string): string => `funding ${program} ${currency}`;
export const suspenseOf = (program: string, currency: string): string => `suspense ${program} ${currency}`;

/**
 * The books: a list of transfers and other movements, and the sums of each account. The part of a transfer in the sums depends
 * only on the transfer (`#add`). When the transfer changes, its part is removed and added again, so no change needs rules for
 * sums.
 */
export class Books {
  now = 0;
  readonly programs = new Map<string, Program>();
  readonly cards = new Map<string, Card>();
  readonly transfers = new Map<string, Transfer>();
  readonly #sums = new Map<string, Sums>();

  program(name: string): Program {
    return known(this.programs, name);
  }

  card(name: string): Card {
    return known(this.cards, name);
  }

  transfer(id: string): Transfer {
    return known(this.transfers, id);
  }

  /** Today in the program's time zone. */
  today(program: string): string {
    return dayIn(this.program(program).zone, this.now);
  }

  /** The status of a card today. A card that is usable, or can become usable again, expires after its last day. */
  cardStatus(name: string, expiresOn = this.card(name).expiresOn): CardStatus {
    const { status, program } = this.card(name);
    if (expiresOn === null || !EXPIRES[status]) return status;
    return this.today(program) > expiresOn ? 'expired' : status;
  }

  /** The status of a transfer now, as callers see it. */
  status({ status, expiresAt }: Pick<Transfer, 'status' | 'expiresAt'>): TransferStatus {
    return status === 'pending' && expiresAt !== null && expiresAt <= this.now ? 'expired' : status;
  }

  /** Moves money without a transfer. */
  move(source: string, destination: string, amount: bigint): void {
    if (amount === 0n) return;
    for (const [account, change] of [[source, -amount] as const, [destination, amount] as const]) {
      const sums = this.sums(account);
      sums.balance += change;
      sums.lines += 1n;
    }
  }

  /** Adds a new transfer. */
  keep(id: string, transfer: Transfer): void {
    this.transfers.set(id, transfer);
    this.#add(transfer, 1n);
  }

  /** Records the progress of a transfer. */
  change(id: string, progress: Partial<Progress>): void {
    const before = this.transfer(id);
    const after = { ...before, ...progress, updatedAt: this.now };
    this.#add(before, -1n);
    this.transfers.set(id, after);
    this.#add(after, 1n);
  }

  /** Adds a transfer to the sums of its accounts (`times` 1), or takes it away again (-1). */
  #add(transfer: Transfer, times: bigint): void {
    const { status, amount, captured, reversals, completedAt, countedOn } = transfer;
    const moved = times * (captured - sum(reversals));
    const onHold = status === 'pending' ? times * amount : 0n;
    const [source, destination] = [this.sums(sourceOf(transfer)), this.sums(destinationOf(transfer))];
    source.balance -= moved;
    source.held += onHold;
    destination.balance += moved;
    destination.incoming += onHold;
    for (const sums of [source, destination]) {
      sums.lines += times * ((completedAt === null ? 0n : 1n) + BigInt(reversals.length));
    }
    if (countedOn === null) return;
    // A pending hold counts in full. A released one no longer counts. A reversed amount still does.
    const used = status === 'pending' ? amount : captured;
    const isIn = status === 'pending' || status === 'completed';
    for (const account of [sourceOf(transfer), destinationOf(transfer)]) {
      const { counted } = this.sums(account);
      const key = `${directionOf(transfer, account)} ${countedOn}`;
      const before = counted.get(key) ?? { amount: 0n, count: 0n };
      counted.set(key, {
        amount: before.amount + (isIn ? times * used : 0n),
        count: before.count + (isIn ? times : 0n),
      });
    }
  }

  sums(account: string): Sums {
    const before = this.#sums.get(account);
    if (before !== undefined) return before;
    const none = { balance: 0n, held: 0n, incoming: 0n, lines: 0n, counted: new Map<string, Used>() };
    this.#sums.set(account, none);
    return none;
  }

  available(account: string): bigint {
    const { balance, held } = this.sums(account);
    return balance - held;
  }

  /** The limits that apply to a transfer, in the order of responses. */
  limitsOf({ program, type, card, destination, currency }: Route): readonly StandingLimit[] {
    if (type === 'card_to_card') return [...this.limitsOn(card, 'out'), ...this.limitsOn(destination ?? '', 'in')];
    const direction = type === 'load' ? 'in' : 'out';
    return [...this.limitsOn(card, direction), ...this.limitsOnAll(program, currency, direction)];
  }

  /** The limits of one card. If it lacks a limit, the program's limit for each card applies. */
  limitsOn(name: string, direction: Direction): readonly StandingLimit[] {
    const { limits, currency, program } = this.card(name);
    const { cardLimits, currency: own } = this.program(program);
    return LIMIT_NAMES.flatMap((limit) => {
      const ofCard = limits?.[direction][limit];
      const value = ofCard ?? (currency === own ? cardLimits?.[direction][limit] : undefined);
      const source = ofCard === undefined ? 'program_card' : 'card';
      return value === undefined ? [] : [this.#stand(limit, value, source, { program, account: name, direction })];
    });
  }

  /** The limits of all cards of a program together. They are amounts of the program's own currency. */
  limitsOnAll(program: string, currency: string, direction: Direction): readonly StandingLimit[] {
    const { limits, currency: own } = this.program(program);
    if (limits === null || currency !== own) return [];
    const counted = { program, account: fundingOf(program, currency), direction };
    return LIMIT_NAMES.flatMap((limit) => {
      const value = limits[direction][limit];
      return value === undefined ? [] : [this.#stand(limit, value, 'program', counted)];
    });
  }

  #stand(
    name: LimitName,
    value: bigint,
    source: LimitSource,
    {
      program,
      account,
      direction,
    }: { readonly program: string; readonly account: string; readonly direction: Direction },
  ): StandingLimit {
    const [period, measure] = LIMITS[name];
    if (period === null) return { name, value, source, used: null, left: null };
    const running = periodOf(period, this.today(program));
    let used = 0n;
    for (const [key, count] of this.sums(account).counted) {
      const [way = '', day = ''] = key.split(' ');
      if (way === direction && periodOf(period, day) === running) used += count[measure];
    }
    return { name, value, source, used, left: used > value ? 0n : value - used };
  }

  /** The maximum balance of a card, and whether the card or its program set it. */
  maximumBalance(name: string): { readonly value: bigint; readonly source: 'card' | 'program_card' } | null {
    const { limits, currency, program } = this.card(name);
    const own = limits?.maximumBalance ?? null;
    if (own !== null) return { value: own, source: 'card' };
    const { cardLimits, currency: ofProgram } = this.program(program);
    const given = currency === ofProgram ? (cardLimits?.maximumBalance ?? null) : null;
    return given === null ? null : { value: given, source: 'program_card' };
  }
}

/** The account that the money of a transfer leaves. */
export function sourceOf({ program, type, card, currency }: Route): string {
  return type === 'load' ? fundingOf(program, currency) : card;
}

/** The account that the money of a transfer reaches. */
export function destinationOf({ program, type, card, destination, currency }: Route): string {
  if (type === 'load') return card;
  return type === 'unload' ? fundingOf(program, currency) : (destination ?? '');
}

/** The direction of a transfer for one account. Funding has the direction that its cards have. */
function directionOf({ type, destination }: Transfer, account: string): Direction {
  return type === 'load' || (type === 'card_to_card' && account === destination) ? 'in' : 'out';
}

export function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

function known<T>(all: ReadonlyMap<string, T>, name: string): T {
  const found = all.get(name);
  if (found === undefined) throw new Error(`the model has no '${name}'`);
  return found;
}
