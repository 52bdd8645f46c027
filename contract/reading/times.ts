/** The years that a date or a time may lie in, wherever one is sent: PostgreSQL and every client can write these. */
export const YEARS = { first: 1900, last: 9999 } as const;

/** The first and the last moment of {@link YEARS}, in milliseconds since 1970. */
const FIRST_MOMENT = Date.UTC(YEARS.first, 0, 1);
const LAST_MOMENT = Date.UTC(YEARS.last + 1, 0, 1) - 1;

const MOMENT_FORM = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** What a member with a date must be, for a message. */
export const DATE_RULE = `a date from ${YEARS.first}-01-01 to ${YEARS.last}-12-31, as YYYY-MM-DD`;

/** What a member with a time must be, for a message. */
export const MOMENT_RULE = `a time from the years ${YEARS.first} to ${YEARS.last}, such as 2030-01-31T12:00:00Z`;

/** Whether a text is a day of the calendar, YYYY-MM-DD, within {@link YEARS}. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // JavaScript reads 02-30 as 03-02, which is then another text.
  return isWithinYears(time) && new Date(time).toISOString().startsWith(text);
}

/** Whether a text is a moment as RFC 3339 writes it, within {@link YEARS} in UTC too. */
export function isMoment(text: string): boolean {
  const day = MOMENT_FORM.exec(text)?.[1];
  return day !== undefined && isDate(day) && isWithinYears(Date.parse(text));
}

/** A moment, in milliseconds since 1970, or the last one that can be written where it would come after that. */
export function atMostLastMoment(time: number): number {
  return Math.min(time, LAST_MOMENT);
}

function isWithinYears(time: number): boolean {
  return time >= FIRST_MOMENT && time <= LAST_MOMENT;
}
