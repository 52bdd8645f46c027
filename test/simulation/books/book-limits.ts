import type { Ask, TransferType } from '../ask.ts';

/** An account with a direction, and the owners of its limits: for each name the first owner that has it counts. */
export type LimitedSide = {
  readonly account: string;
  readonly direction: 'in' | 'out';
  readonly limits: readonly string[];
};

/** The sums of the transfers of a day. */
export type BookCount = { readonly amount: bigint; readonly count: bigint };

const DAY = 86_400_000;

const dayOf = (at: number): number => Math.floor(at / DAY) * DAY;

/** When the running periods began, in UTC, which is the time zone of every program of the simulation. */
const BEGINNINGS: Readonly<Record<string, (day: number) => number>> = {
  daily: (day) => day,
  weekly: (day) => day - ((new Date(day).getUTCDay() + 6) % 7) * DAY,
  monthly: (day) => day - (new Date(day).getUTCDate() - 1) * DAY,
};

/** Limits and counters of the serial books. */
export class BookLimits {
  /** By account, direction and the beginning of the day. */
  readonly counts = new Map<string, BookCount>();
  /** By whose they are, then by name. */
  readonly #limits = new Map<string, Map<string, bigint>>();

  /** Sets limits as they are stored. */
  setAll(of: string, stored: unknown): void {
    const { maximum_balance, ...directions } = (stored ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof maximum_balance === 'number') this.set(of, 'maximum_balance', BigInt(maximum_balance));
    for (const [direction, limits] of Object.entries(directions)) {
      for (const [name, value] of Object.entries(limits as object)) this.set(of, `${direction} ${name}`, BigInt(value));
    }
  }

  set(of: string, limit: string, value: bigint | null): void {
    const own = this.#limits.get(of) ?? new Map<string, bigint>();
    this.#limits.set(of, own);
    if (value === null) own.delete(limit);
    else own.set(limit, value);
  }

  isSet(of: string, limit: string, value: bigint | null): boolean {
    return (this.#limits.get(of)?.get(limit) ?? null) === value;
  }

  /** The maximum balance of a card. */
  maximumBalance(card: string, program: number): bigint | undefined {
    return this.#find([card, `cards ${program}`], 'maximum_balance');
  }

  /** The code with which one transfer is refused for its size. */
  refuseSize(sides: readonly LimitedSide[], amount: bigint): string | undefined {
    const least = sides.map(({ limits, direction }) => this.#find(limits, `${direction} minimum_amount`));
    if (least.some((value) => value !== undefined && amount < value)) return 'amount_too_small';
    const most = sides.map(({ limits, direction }) => this.#find(limits, `${direction} maximum_amount`));
    return most.some((value) => value !== undefined && amount > value) ? 'amount_too_large' : undefined;
  }

  /** Whether one more transfer would exceed a limit of a period. */
  exceeds(sides: readonly LimitedSide[], amount: bigint, at: number): boolean {
    return sides.some(({ account, direction, limits }) =>
      Object.entries(BEGINNINGS).some(([period, beginningOf]) => {
        const most = this.#find(limits, `${direction} ${period}_amount`);
        const times = this.#find(limits, `${direction} ${period}_count`);
        if (most === undefined && times === undefined) return false;
        const used = this.#usedSince(account, direction, beginningOf(dayOf(at)), at);
        const isOften = times !== undefined && used.count + 1n > times;
        return isOften || (most !== undefined && used.amount + amount > most);
      }),
    );
  }

  /** Counts a transfer on a day, or subtracts a part of it. */
  count(sides: readonly LimitedSide[], at: number, amount: bigint, count: bigint): void {
    for (const { account, direction } of sides) {
      const key = `${account} ${direction} ${dayOf(at)}`;
      const before = this.counts.get(key);
      this.counts.set(key, { amount: (before?.amount ?? 0n) + amount, count: (before?.count ?? 0n) + count });
    }
  }

  #find(limits: readonly string[], name: string): bigint | undefined {
    for (const of of limits) {
      const value = this.#limits.get(of)?.get(name);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  #usedSince(account: string, direction: string, from: number, at: number): BookCount {
    let amount = 0n;
    let count = 0n;
    for (let day = from; day <= at; day += DAY) {
      const counted = this.counts.get(`${account} ${direction} ${day}`);
      amount += counted?.amount ?? 0n;
      count += counted?.count ?? 0n;
    }
    return { amount, count };
  }
}

/** The fields of a transfer that the checks use. */
export type Terms = {
  readonly source: string;
  readonly destination: string;
  /** The card, and the one that receives. */
  readonly cards: readonly string[];
  readonly program: number;
  readonly type: TransferType;
  readonly amount: bigint;
};

/** The accounts between which money moves. */
export function endsOf({ type, program, card, destination }: Extract<Ask, { does: 'create' }>): {
  readonly source: string;
  readonly destination: string;
} {
  const funding = `funding ${program}`;
  if (type === 'load') return { source: funding, destination: card };
  return { source: card, destination: type === 'unload' ? funding : (destination ?? '') };
}

/** The limits that it counts towards: accounts with a direction, and the owners of the limits, the narrowest first. */
export function sidesOf({ type, program, cards }: Terms): readonly LimitedSide[] {
  const [card = '', other = ''] = cards;
  const sideOf = (account: string, direction: 'in' | 'out'): LimitedSide => ({
    account,
    direction,
    limits: [account, `cards ${program}`],
  });
  if (type === 'card_to_card') return [sideOf(card, 'out'), sideOf(other, 'in')];
  const direction = type === 'load' ? 'in' : 'out';
  return [sideOf(card, direction), { account: `funding ${program}`, direction, limits: [`program ${program}`] }];
}

/** Whose limits a change of a program is about, if it is about limits. */
export function limitedOf({ program, member }: Extract<Ask, { does: 'update_program' }>): string | undefined {
  if (member === 'limits') return `program ${program}`;
  return member === 'card_limits' ? `cards ${program}` : undefined;
}
