import type { Calendar } from '../../domain/ledger/limits.ts';
import { dayIn, firstAfter, memoized } from '../../verification/model/calendar.ts';

export { dayIn, nextPeriodAfter, periodOf } from '../../verification/model/calendar.ts';

const HOUR = 60 * 60 * 1000;

const keepStart = memoized<number>();
const keepCalendar = memoized<Calendar>();

/**
 * Computes the calendar at a time in a different way than the product does: it first calculates with dates, and then
 * finds the start of each date.
 */
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

/** Returns the start of a day in a zone. The day is given as midnight UTC. No zone is more than 15 hours from UTC. */
function startOf(midnight: number, zone: string): number {
  return keepStart(`${zone} ${midnight}`, () => {
    const day = new Date(midnight).toISOString().slice(0, 'YYYY-MM-DD'.length);
    return firstAfter(midnight - 15 * HOUR, midnight + 15 * HOUR, (time) => dayIn(zone, time) >= day);
  });
}
