import type { Calendar, Period } from '../../domain/ledger/limits.ts';

const HOUR = 60 * 60 * 1000;

/** Caches results by name: time zone lookups are slow, and the same days come again and again. */
function memoized<T>(): (name: string, find: () => T) => T {
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
const keepName = memoized<string>();
const keepNext = memoized<number>();
const keepStart = memoized<number>();
const keepCalendar = memoized<Calendar>();
let asked = { zone: '', moment: Number.NaN, day: '' };

/** The day of a moment in a time zone, YYYY-MM-DD. */
export function dayIn(zone: string, moment: number): string {
  if (asked.zone === zone && asked.moment === moment) return asked.day;
  const format = keepFormat(zone, () => {
    // The dates of English Canada are written like those of ISO 8601.
    return new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' });
  });
  asked = { zone, moment, day: format.format(moment) };
  return asked.day;
}

/** The name of the period that a day belongs to: the day itself, the Monday of its week, the year and month. */
export function periodOf(period: Period, day: string): string {
  return NAMES[period](day);
}

const NAMES: Readonly<Record<Period, (day: string) => string>> = {
  day: (day) => day,
  week: (day) =>
    keepName(day, () => {
      const date = new Date(`${day}T00:00:00Z`);
      while (date.getUTCDay() !== 1) date.setUTCDate(date.getUTCDate() - 1);
      return date.toISOString().slice(0, day.length);
    }),
  month: (day) => day.slice(0, 'YYYY-MM'.length),
};

/**
 * When the next period begins, found in steps of half a day until the period has another name, then by bisection. No day of
 * any zone is shorter than a step, so no period is missed.
 */
export function nextPeriodAfter(moment: number, period: Period, zone: string): number {
  const nameAt = (time: number): string => periodOf(period, dayIn(zone, time));
  const name = nameAt(moment);
  return keepNext(`${zone} ${period} ${name}`, () => {
    let inside = moment;
    while (nameAt(inside + 12 * HOUR) === name) inside += 12 * HOUR;
    return firstAfter(inside, inside + 12 * HOUR, (time) => nameAt(time) !== name);
  });
}

/** The calendar at a time, computed differently: by arithmetic on dates, and then when each of them begins. */
export function calendarAt(moment: number, zone: string): Calendar {
  const today = dayIn(zone, moment);
  return keepCalendar(`${zone} ${today}`, () => {
    const [year = 0, month = 1, day = 1] = today.split('-').map(Number);
    const sinceMonday = (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;
    const between = (first: number, last: number) => ({ start: startOf(first, zone), end: startOf(last, zone) });
    return {
      day: between(Date.UTC(year, month - 1, day), Date.UTC(year, month - 1, day + 1)),
      week: between(Date.UTC(year, month - 1, day - sinceMonday), Date.UTC(year, month - 1, day - sinceMonday + 7)),
      month: between(Date.UTC(year, month - 1, 1), Date.UTC(year, month, 1)),
    };
  });
}

/** When a day begins in a zone, given as midnight UTC of the same date. No zone is further than 15 hours from UTC. */
function startOf(midnight: number, zone: string): number {
  return keepStart(`${zone} ${midnight}`, () => {
    const day = new Date(midnight).toISOString().slice(0, 'YYYY-MM-DD'.length);
    return firstAfter(midnight - 15 * HOUR, midnight + 15 * HOUR, (time) => dayIn(zone, time) >= day);
  });
}

/** The first time after `before` from which a condition holds; it must still hold at `after`. */
function firstAfter(before: number, after: number, holds: (time: number) => boolean): number {
  let low = before;
  let high = after;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}
