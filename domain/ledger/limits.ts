import { formatMoney } from './money.ts';

// Invariant: A limit is exact, even under concurrency
// Kept by: counters change under the lock of their account
// Tested by: `test/store/transfers.test.ts`, `verification/campaigns/changes.ts`,
//   `test/api/transfers/limits.test.ts`

/** The direction of money as a card sees it, onto it or off it. For a program: from funding onto its cards, or back. */
export type Direction = 'in' | 'out';

/** The calendar periods of limits, in the program's time zone. A week begins on Monday. */
export const PERIODS = ['day', 'week', 'month'] as const;

export type Period = (typeof PERIODS)[number];

/** The maximum number of days in each period. It determines how long counters are read and kept. */
export const LONGEST_DAYS: Readonly<Record<Period, number>> = { day: 1, week: 7, month: 31 };

/** The limits that one direction can have: on the size of one transfer, or on the total of a period. */
export const LIMIT_NAMES = {
  minimum_amount: { period: null, measure: 'amount' },
  maximum_amount: { period: null, measure: 'amount' },
  daily_amount: { period: 'day', measure: 'amount' },
  daily_count: { period: 'day', measure: 'count' },
  weekly_amount: { period: 'week', measure: 'amount' },
  weekly_count: { period: 'week', measure: 'count' },
  monthly_amount: { period: 'month', measure: 'amount' },
  monthly_count: { period: 'month', measure: 'count' },
} as const satisfies Record<string, { period: Period | null; measure: 'amount' | 'count' }>;

export type LimitName = keyof typeof LIMIT_NAMES;

/** The limits of one direction, in minor units or numbers of transfers. A missing limit does not apply. */
export type DirectionLimits = { readonly [Name in LimitName]?: bigint };

/** Limits as set on a card or a program. `maximumBalance`: the highest balance of a card, in minor units. */
export type Limits = {
  readonly in: DirectionLimits;
  readonly out: DirectionLimits;
  readonly maximumBalance: bigint | null;
};

/** Where a limit is set: on the card, on its program for each card, or on the program for all cards together. */
export type LimitSource = 'card' | 'program_card' | 'program';

/** A limit that applies, and where it is set. */
export type EffectiveLimit = { readonly name: LimitName; readonly value: bigint; readonly source: LimitSource };

/** The total of a period's transfers so far. */
export type Used = { readonly amount: bigint; readonly count: bigint };

/** The usage of each current period. */
export type Usage = Readonly<Record<Period, Used>>;

/** Returns a value for each period. */
export function forEachPeriod<Value>(make: (period: Period) => Value): Readonly<Record<Period, Value>> {
  return Object.fromEntries(PERIODS.map((period) => [period, make(period)])) as Record<Period, Value>;
}

export const NOTHING_USED: Usage = Object.freeze(forEachPeriod(() => ({ amount: 0n, count: 0n })));

/** When each current period began and when the next begins, in milliseconds since 1970. */
export type Calendar = Readonly<Record<Period, { readonly start: number; readonly end: number }>>;

/** The limits of a program, and its calendar at the moment of the decision. */
export type ProgramRules = {
  readonly programId: string;
  /** The currency of the program's limits. They do not apply to cards in other currencies. */
  readonly currency: string;
  /** The day in the program's time zone, YYYY-MM-DD. */
  readonly today: string;
  readonly calendar: Calendar;
  /** Limits on all loads (`in`) and on all unloads (`out`) of the program together. */
  readonly limits: Limits | null;
  /** Limits of each card of the program, unless the card has its own limit with that name. */
  readonly cardLimits: Limits | null;
};

/**
 * The amounts that a transfer adds to the counters of an account, for the day that began at `dayStart`. Negative to give usage
 * back.
 */
export type CounterChange = {
  readonly accountId: string;
  readonly direction: Direction;
  readonly dayStart: number;
  readonly amount: bigint;
  readonly count: bigint;
};

/** The total of the transfers of one day, identified by the instant when the day began. */
export type CountedDay = Used & { readonly dayStart: number };

/** The usage of each current period, which is the sum of its days. */
export function usageOf(days: readonly CountedDay[], calendar: Calendar): Usage {
  let usage = NOTHING_USED;
  for (const day of days) usage = addToUsage(usage, day, calendar);
  return usage;
}

/** The usage of each current period after one more change of a day. */
export function addToUsage(usage: Usage, change: CountedDay, calendar: Calendar): Usage {
  const { dayStart, amount, count } = change;
  const add = (period: Period): Used => {
    const { start, end } = calendar[period];
    const used = usage[period];
    if (dayStart < start || dayStart >= end) return used;
    return { amount: used.amount + amount, count: used.count + count };
  };
  return { day: add('day'), week: add('week'), month: add('month') };
}

/** The counted days after one more change of a day. Each day appears once, even if it counts many transfers. */
export function addToDays(days: readonly CountedDay[], { dayStart, amount, count }: CountedDay): readonly CountedDay[] {
  const index = days.findIndex((day) => day.dayStart === dayStart);
  const before = days[index];
  if (before === undefined) return [...days, { dayStart, amount, count }];
  return days.with(index, { dayStart, amount: before.amount + amount, count: before.count + count });
}

const KNOWN_NAMES = Object.keys(LIMIT_NAMES) as readonly LimitName[];

/**
 * All limits in their order, and then the names in `limits` that only a newer version knows. In a rolling upgrade, this version
 * does not apply those limits, but it shows them and keeps them when it changes others.
 */
export function namesIn(limits: Readonly<Partial<Record<LimitName, unknown>>>): readonly LimitName[] {
  const unknown = Object.keys(limits).filter((name) => !Object.hasOwn(LIMIT_NAMES, name)) as LimitName[];
  return unknown.length === 0 ? KNOWN_NAMES : [...KNOWN_NAMES, ...unknown];
}

/** Whether no limit is set. */
export function limitsNothing(limits: Limits): boolean {
  return limits.maximumBalance === null && Object.keys(limits.in).length + Object.keys(limits.out).length === 0;
}

const NO_LIMITS: readonly EffectiveLimit[] = [];

/** Cache of the limits of each direction, by the limits they were computed from. Every transfer needs them. */
type KnownLimits = { [Way in Direction]?: readonly EffectiveLimit[] };
const NONE: Limits = { in: {}, out: {}, maximumBalance: null };
const knownForCards = new WeakMap<Limits, WeakMap<Limits, KnownLimits>>();
const knownForPrograms = new WeakMap<Limits, KnownLimits>();

/** A card's limits in one direction: its own, and for every other name its program's limit for each card. */
export function cardLimitsFor(
  card: { readonly limits: Limits | null; readonly currency: string },
  rules: ProgramRules,
  direction: Direction,
): readonly EffectiveLimit[] {
  if (card.limits === null && rules.cardLimits === null) return NO_LIMITS;
  const own = card.limits ?? NONE;
  const inherited = (rules.currency === card.currency ? rules.cardLimits : null) ?? NONE;
  const ofOwn = knownForCards.get(own) ?? new WeakMap<Limits, KnownLimits>();
  knownForCards.set(own, ofOwn);
  const known = ofOwn.get(inherited) ?? {};
  ofOwn.set(inherited, known);
  known[direction] ??= namesOf({ ...inherited[direction], ...own[direction] }).map(([name, value]) => ({
    name,
    value,
    source: own[direction][name] === undefined ? 'program_card' : 'card',
  }));
  return known[direction];
}

/** The limits shared by all transfers between funding and cards of one currency. */
export function programLimitsFor(
  rules: ProgramRules,
  currency: string,
  direction: Direction,
): readonly EffectiveLimit[] {
  if (rules.currency !== currency || rules.limits === null) return NO_LIMITS;
  const known = knownForPrograms.get(rules.limits) ?? {};
  knownForPrograms.set(rules.limits, known);
  known[direction] ??= namesOf(rules.limits[direction]).map(([name, value]) => ({ name, value, source: 'program' }));
  return known[direction];
}

/** The maximum balance of a card, in minor units, and where it is set. Null if it is not set. */
export function maximumBalanceOf(
  card: { readonly limits: Limits | null; readonly currency: string },
  rules: ProgramRules,
): { readonly value: bigint; readonly source: LimitSource } | null {
  const own = card.limits?.maximumBalance ?? null;
  if (own !== null) return { value: own, source: 'card' };
  const inherited = rules.currency === card.currency ? (rules.cardLimits?.maximumBalance ?? null) : null;
  return inherited === null ? null : { value: inherited, source: 'program_card' };
}

/** A limit and the usage it measures. `left` is null for the size of one transfer, because transfers do not use it up. */
export type LimitState = EffectiveLimit & {
  readonly period: Period | null;
  readonly used: bigint | null;
  readonly left: bigint | null;
  /** When the next period begins, in milliseconds since 1970. */
  readonly freesAt: number | null;
};

/** The state of a limit, given its usage. */
export function stateOf(limit: EffectiveLimit, usage: Usage, calendar: Calendar): LimitState {
  const { period, measure } = LIMIT_NAMES[limit.name];
  if (period === null) return { ...limit, period, used: null, left: null, freesAt: null };
  const used = usage[period][measure];
  const left = limit.value > used ? limit.value - used : 0n;
  return { ...limit, period, used, left, freesAt: calendar[period].end };
}

/** Whether one more transfer of `amount` respects a limit. */
export function keeps(state: LimitState, amount: bigint): boolean {
  if (state.name === 'minimum_amount') return amount >= state.value;
  if (state.left === null) return amount <= state.value;
  return (LIMIT_NAMES[state.name].measure === 'count' ? 1n : amount) <= state.left;
}

/** The largest amount of one more transfer under some limits, in minor units, or null if they do not limit it. */
export function mostAllowed(states: readonly LimitState[]): bigint | null {
  let most: bigint | null = null;
  for (const state of states) {
    if (state.name === 'minimum_amount') continue;
    const isCount = LIMIT_NAMES[state.name].measure === 'count';
    if (isCount && state.left !== 0n) continue;
    const bound = isCount ? 0n : (state.left ?? state.value);
    if (most === null || bound < most) most = bound;
  }
  return most;
}

/** The message for a limit that a transfer would exceed: the limit, its usage, the remaining amount, and when it resets. */
export function describeBreach(
  state: LimitState,
  amount: bigint,
  subject: { readonly name: string; readonly currency: string; readonly direction: Direction },
): string {
  const money = (value: bigint): string => formatMoney(value, subject.currency);
  const who = `${subject.name} may ${subject.direction === 'in' ? 'receive' : 'send'}`;
  const bound = `Its '${state.name}' limit (${describeSource(state.source)})`;
  if (state.name === 'minimum_amount') {
    return `${who} no transfer below ${money(state.value)}; this one is for ${money(amount)}. ${bound} applies.`;
  }
  if (state.period === null || state.freesAt === null) {
    return `${who} no transfer above ${money(state.value)}; this one is for ${money(amount)}. ${bound} applies.`;
  }
  const isCount = LIMIT_NAMES[state.name].measure === 'count';
  const shown = (value: bigint): string => (isCount ? countOf(value) : money(value));
  const frees = new Date(state.freesAt).toISOString().replace('.000Z', 'Z');
  return (
    `${who} ${shown(state.value)} per ${state.period}: ${shown(state.used ?? 0n)} used, ${shown(state.left ?? 0n)} left; ` +
    `this transfer is for ${money(amount)}. ${bound} resets at ${frees}.`
  );
}

/** Says where a limit is set, for a message. */
export function describeSource(source: LimitSource): string {
  return {
    card: 'set on the card',
    program_card: 'set by the card program for each card',
    program: 'set for the card program as a whole',
  }[source];
}

function countOf(count: bigint): string {
  return `${count} transfer${count === 1n ? '' : 's'}`;
}

function namesOf(limits: DirectionLimits): readonly (readonly [LimitName, bigint])[] {
  return KNOWN_NAMES.flatMap((name) => {
    const value = limits[name];
    return value === undefined ? [] : [[name, value] as const];
  });
}

/** Whether two sets of limits are equal. Null equals a set without limits. */
export function sameLimits(one: Limits | null, other: Limits | null): boolean {
  const same = (direction: Direction): boolean =>
    namesIn({ ...one?.[direction], ...other?.[direction] }).every(
      (name) => one?.[direction][name] === other?.[direction][name],
    );
  return (one?.maximumBalance ?? null) === (other?.maximumBalance ?? null) && same('in') && same('out');
}

/** A change of limits: a number sets a limit, null removes it (or all of a direction), and omitted limits are unchanged. */
export type LimitsChange = {
  readonly in?: DirectionLimitsChange | null;
  readonly out?: DirectionLimitsChange | null;
  /** In minor units. */
  readonly maximumBalance?: bigint | null;
};

/** A change of the limits of one direction. */
export type DirectionLimitsChange = { readonly [Name in LimitName]?: bigint | null };

/** The limits after a change. Null removes all of them, undefined keeps them. */
export function changeLimits(before: Limits | null, change: LimitsChange | null | undefined): Limits | null {
  if (change === undefined) return before;
  if (change === null) return null;
  const { maximumBalance = before?.maximumBalance ?? null } = change;
  return { in: changeDirection(before?.in, change.in), out: changeDirection(before?.out, change.out), maximumBalance };
}

function changeDirection(
  before: DirectionLimits = {},
  change: DirectionLimitsChange | null | undefined,
): DirectionLimits {
  if (change === null) return {};
  const after: { [Name in LimitName]?: bigint } = {};
  for (const name of namesIn(before)) {
    const { [name]: value = before[name] } = change ?? {};
    if (value !== undefined && value !== null) after[name] = value;
  }
  return after;
}

/** The direction whose minimum amount exceeds its maximum amount, or undefined if there is none. */
export function contradictionIn(limits: Limits): Direction | undefined {
  return (['in', 'out'] as const).find((direction) => {
    const { minimum_amount: least, maximum_amount: most } = limits[direction];
    return least !== undefined && most !== undefined && least > most;
  });
}
