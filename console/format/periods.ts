/** The periods that people ask for, by their name in the URL. */
export const PERIODS = {
  hour: 'Last hour',
  night: 'Last night',
  day: 'Last 24 hours',
  week: 'Last 7 days',
} as const;

/** One of {@link PERIODS}, `exact` for the times of the other fields, or empty for any time. */
export type Period = {
  readonly period: string;
  /** ISO moments; empty for no bound. */
  readonly from: string;
  readonly to: string;
};

const HOUR_MILLISECONDS = 3_600_000;
const HOURS = { hour: 1, day: 24, week: 7 * 24 } as const;

/** A night lasts from the end of a working day to the start of the next, in the reader's time zone. */
const NIGHT_BEGINS_HOUR = 18;
const NIGHT_ENDS_HOUR = 8;

/** The bounds of a period as the API takes them, as of `now` (milliseconds since 1970); empty for no bound. */
export function boundsOf({ period, from, to }: Period, now: number): { readonly from?: string; readonly to?: string } {
  if (period === 'night') return nightBefore(now);
  if (Object.hasOwn(HOURS, period)) {
    const hours = HOURS[period as keyof typeof HOURS];
    return { from: new Date(now - hours * HOUR_MILLISECONDS).toISOString() };
  }
  return { ...(from === '' ? {} : { from }), ...(to === '' ? {} : { to }) };
}

/** Last night, or the current one. */
function nightBefore(now: number): { readonly from: string; readonly to: string } {
  const at = (daysAgo: number, hour: number): Date => {
    const day = new Date(now);
    day.setDate(day.getDate() - daysAgo);
    day.setHours(hour, 0, 0, 0);
    return day;
  };
  const isEvening = now > at(0, NIGHT_BEGINS_HOUR).getTime();
  const begins = at(isEvening ? 0 : 1, NIGHT_BEGINS_HOUR);
  const ends = isEvening ? at(-1, NIGHT_ENDS_HOUR) : at(0, NIGHT_ENDS_HOUR);
  return { from: begins.toISOString(), to: ends.toISOString() };
}

/** Whether a period has any bound. */
export function isBounded({ period, from, to }: Period): boolean {
  return Object.hasOwn(PERIODS, period) || from !== '' || to !== '';
}
