/** The range of years in requests. PostgreSQL and all clients can represent it. */
const YEARS = { first: 1900, last: 9999 } as const;

/** Start and end of {@link YEARS}, in milliseconds since 1970. */
const FIRST_MOMENT = Date.UTC(YEARS.first, 0, 1);
const LAST_MOMENT = Date.UTC(YEARS.last + 1, 0, 1) - 1;

/** RFC 3339, section 5.6. The groups are the day, the rest of the time up to its seconds, the seconds, their fraction and the offset. */
const MOMENT_FORM =
  /^(\d{4}-\d{2}-\d{2})T((?:[01]\d|2[0-3]):[0-5]\d):([0-5]\d|60)(\.\d+)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
const DAY_MILLISECONDS = 86_400_000;

export const DATE_RULE = `a date from ${YEARS.first}-01-01 to ${YEARS.last}-12-31, as YYYY-MM-DD`;

/** The form of a time, for messages. */
export const MOMENT_RULE = `a time from the years ${YEARS.first} to ${YEARS.last}, such as 2030-01-31T12:00:00Z`;

/** Whether a text is a calendar date, YYYY-MM-DD, within {@link YEARS}. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // JavaScript reads 02-30 as 03-02.
  return isWithinYears(time) && new Date(time).toISOString().startsWith(text);
}

/**
 * Reads an RFC 3339 time that is within {@link YEARS}, both as written and in UTC. Returns the stored form: in UTC, with the first
 * three digits of the fraction. A leap second, which UTC has only at the end of a day, becomes the first second of the next day.
 * Returns undefined for any other text.
 */
export function readMoment(text: string): string | undefined {
  const [, day = '', minute, second, fraction = '', offset = ''] = MOMENT_FORM.exec(text) ?? [];
  if (!isDate(day)) return undefined;
  const isLeap = second === '60';
  const whole = Date.parse(`${day}T${minute}:${isLeap ? '59' : second}${offset.toUpperCase() === 'Z' ? 'Z' : offset}`);
  const start = isLeap ? whole + 1000 : whole;
  if (isLeap && start % DAY_MILLISECONDS !== 0) return undefined;
  const time = start + Number(fraction.slice(1, 4).padEnd(3, '0'));
  return isWithinYears(time) ? new Date(time).toISOString() : undefined;
}

/** The end of a sentence about an invalid time. */
export function wrongMoment(text: string, isInQuery: boolean, shown: string): string {
  const rule = `must be ${MOMENT_RULE}, but it is ${shown}`;
  if (isInQuery && readMoment(text.replace(' ', '+')) !== undefined)
    return `${rule}: in a query, + is a space, so send it as %2B`;
  if (readMoment(`${text}Z`) !== undefined) return `${rule}: end it with Z or with an offset from UTC, such as +02:00`;
  return rule;
}

/** Limits a time, in milliseconds since 1970, to the last one in {@link YEARS}. */
export function clampToLastMoment(time: number): number {
  return Math.min(time, LAST_MOMENT);
}

function isWithinYears(time: number): boolean {
  return time >= FIRST_MOMENT && time <= LAST_MOMENT;
}
