const DAY: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short', year: 'numeric' };
const CLOCK: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' };

/** Formats a moment in the user's time zone: `22 Nov 2026, 14:05:33`. */
export function formatMoment(iso: string, timeZone?: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return date.toLocaleString('en-GB', { ...DAY, ...CLOCK, timeZone });
}

/**
 * Formats a moment in the user's time zone, as short as possible: `14:05:33` today, `22 Nov, 14:05` this year, and `22
 * Nov 2025` in a different year.
 */
export function formatShort(iso: string, now: number, timeZone?: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const dayOf = (at: Date) => at.toLocaleDateString('en-GB', { ...DAY, timeZone });
  const [day, today] = [dayOf(date), dayOf(new Date(now))];
  if (day === today) return formatClock(iso, timeZone);
  if (day.slice(-4) !== today.slice(-4)) return day;
  return `${day.slice(0, -5)}, ${formatClock(iso, timeZone).slice(0, -3)}`;
}

/** Formats a moment in UTC to the millisecond, as in logs and the API: `2026-11-22 14:05:33.123 UTC`. */
export function formatUtc(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : date.toISOString().replace('T', ' ').replace('Z', ' UTC');
}

/** Formats the time of day: `14:05:33`. */
export function formatClock(iso: string, timeZone?: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : date.toLocaleTimeString('en-GB', { ...CLOCK, timeZone });
}

const STEPS = [
  { unit: 'day', sign: 'd', milliseconds: 86_400_000 },
  { unit: 'hour', sign: 'h', milliseconds: 3_600_000 },
  { unit: 'minute', sign: 'min', milliseconds: 60_000 },
  { unit: 'second', sign: 's', milliseconds: 1_000 },
] as const;

/**
 * Says how long ago a moment was, or how far ahead it is: `117 seconds ago`, `in 2 hours`, `now`. It uses the largest unit with
 * a count of at least two, because one hour could be nearly two.
 */
export function formatDistance(iso: string, now: number): string {
  const difference = new Date(iso).getTime() - now;
  const step = STEPS.find(({ milliseconds }) => Math.abs(difference) >= 2 * milliseconds) ?? STEPS.at(-1);
  if (step === undefined || Math.abs(difference) < step.milliseconds) return 'now';
  const count = Math.floor(Math.abs(difference) / step.milliseconds);
  const text = `${count} ${step.unit}${count === 1 ? '' : 's'}`;
  return difference < 0 ? `${text} ago` : `in ${text}`;
}

/** Formats a duration: `850 ms`, `12 s`, `1 min 57 s`, `3 h 20 min`, `2 d 4 h`. */
export function formatDuration(milliseconds: number): string {
  let rest = Math.round(milliseconds);
  if (rest < 1_000) return `${rest} ms`;
  const first = STEPS.findIndex((step) => rest >= step.milliseconds);
  return STEPS.slice(first, first + 2)
    .flatMap(({ milliseconds: length, sign }) => {
      const count = Math.floor(rest / length);
      rest -= count * length;
      return count === 0 ? [] : [`${count} ${sign}`];
    })
    .join(' ');
}

/** Converts a date and time field, which is in the user's time zone, to the API's format. Undefined if the field is empty. */
export function toIso(fieldValue: string): string | undefined {
  if (fieldValue === '') return undefined;
  const date = new Date(fieldValue);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** Returns the value of a date and time field for a moment, in the user's time zone. */
export function toFieldValue(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return '';
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/** The periods to choose from, by their names in the URL. */
export const PERIODS = {
  hour: 'Last hour',
  night: 'Last night',
  day: 'Last 24 hours',
  week: 'Last 7 days',
} as const;

/** A key of {@link PERIODS}, `exact` for the other two fields, or empty for any time. */
export type Period = {
  readonly period: string;
  /** ISO 8601. Empty for no bound. */
  readonly from: string;
  readonly to: string;
};

const HOUR_MILLISECONDS = 3_600_000;
const HOURS = { hour: 1, day: 24, week: 7 * 24 } as const;

/** A night lasts from the end of a working day to the start of the next, in the user's time zone. */
const NIGHT_BEGINS_HOUR = 18;
const NIGHT_ENDS_HOUR = 8;

/** Returns the bounds of a period for the API, as of `now` (milliseconds since 1970). Missing for no bound. */
export function boundsOf({ period, from, to }: Period, now: number): { readonly from?: string; readonly to?: string } {
  if (period === 'night') return nightBefore(now);
  if (Object.hasOwn(HOURS, period)) {
    const hours = HOURS[period as keyof typeof HOURS];
    return { from: new Date(now - hours * HOUR_MILLISECONDS).toISOString() };
  }
  return { ...(from === '' ? {} : { from }), ...(to === '' ? {} : { to }) };
}

/** Returns last night, or the current night. */
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

export function isBounded({ period, from, to }: Period): boolean {
  return Object.hasOwn(PERIODS, period) || from !== '' || to !== '';
}
