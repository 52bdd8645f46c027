import type { Period } from '../../domain/ledger/limits.ts';

const HOUR = 60 * 60 * 1000;

/** Caches results by name, because time zone look-ups are slow and the same days are looked up often. */
export function memoized<T>(): (name: string, find: () => T) => T {
  const known = new Map<string, T>();
  return (name, find) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const found = find();
    known.set(name, found);
    return found;
  };
}

const keepFormat = memoized<Intl.DateTimeFormat>();
const keepMonday = memoized<string>();
const keepNext = memoized<number>();
let last = { zone: '', moment: Number.NaN, day: '' };

/** The day of a moment in a time zone, YYYY-MM-DD. */
export function dayIn(zone: string, moment: number): string {
  if (last.zone === zone && last.moment === moment) return last.day;
  const format = keepFormat(zone, () => {
    // Canadian English writes dates like ISO 8601.
    return new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' });
  });
  last = { zone, moment, day: format.format(moment) };
  return last.day;
}

/** The name of the period that a day belongs to: the day, the Monday of its week, its month. */
const NAMES: Readonly<Record<Period, (day: string) => string>> = {
  day: (day) => day,
  week: (day) => keepMonday(day, () => mondayBefore(day)),
  month: (day) => day.slice(0, 'YYYY-MM'.length),
};

function mondayBefore(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  while (date.getUTCDay() !== 1) date.setUTCDate(date.getUTCDate() - 1);
  return date.toISOString().slice(0, day.length);
}

/** The name of the period that a day (YYYY-MM-DD) belongs to. Two days with the same name share a limit. */
export function periodOf(period: Period, day: string): string {
  return NAMES[period](day);
}

/**
 * Returns when the next period begins. Advances in half-day steps until the period has a different name, and then bisects. No day
 * of any zone is shorter than a step, so no period is missed.
 */
export function nextPeriodAfter(moment: number, period: Period, zone: string): number {
  const nameAt = (time: number): string => periodOf(period, dayIn(zone, time));
  const name = nameAt(moment);
  return keepNext(`${zone} ${period} ${name}`, () => {
    let inside = Math.floor(moment);
    while (nameAt(inside + 12 * HOUR) === name) inside += 12 * HOUR;
    return firstAfter(inside, inside + 12 * HOUR, (time) => nameAt(time) !== name);
  });
}

/**
 * Returns the earliest time after `before` for which the condition holds. The condition must then hold until `after` or
 * longer.
 */
export function firstAfter(before: number, after: number, holds: (time: number) => boolean): number {
  let low = before;
  let high = after;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}
