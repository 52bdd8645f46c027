/** The range of years in requests. PostgreSQL and all clients can represent it. */
const YEARS = { first: 1900, last: 9999 } as const;

/** Start and end of {@link YEARS}, in milliseconds since 1970. */
const FIRST_MOMENT = Date.UTC(YEARS.first, 0, 1);
const LAST_MOMENT = Date.UTC(YEARS.last + 1, 0, 1) - 1;

const MOMENT_FORM = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** The form of a date, for messages. */
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

/** Whether a text is an RFC 3339 time within {@link YEARS}, also in UTC. */
export function isMoment(text: string): boolean {
  const day = MOMENT_FORM.exec(text)?.[1];
  return day !== undefined && isDate(day) && isWithinYears(Date.parse(text));
}

/** A time in milliseconds since 1970, at most the last one that can be represented. */
export function clampToLastMoment(time: number): number {
  return Math.min(time, LAST_MOMENT);
}

function isWithinYears(time: number): boolean {
  return time >= FIRST_MOMENT && time <= LAST_MOMENT;
}
