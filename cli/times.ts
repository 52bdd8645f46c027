import { InvalidArgumentError } from 'commander';

const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/;

const TIME_NAMES = /(^|_)(at|from|to|since|until|start|now|scheduled_for|restorable)$/;

/** Formats a time of the API for people: `2026-01-31 09:30:00 UTC`. Returns other text unchanged. */
export function plainTime(text: string): string {
  return text.replace(TIME, '$1 $2 UTC');
}

/** Returns the text of a field. Formats times for people, and leaves free-form content from callers unchanged. */
export function plainField(name: string, text: string): string {
  return TIME_NAMES.test(name) ? plainTime(text) : text;
}

const UNIT_MILLISECONDS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

const DATE = /^\d{4}-\d\d-\d\d$/;
/** The formats of the API and of this command line's output. */
const DATE_AND_TIME = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?: ?(?:UTC|[Zz])|([+-]\d\d:\d\d))?$/;

/**
 * Reads a time in the past: `2030-01-31` (midnight in UTC), `2030-01-31 12:00` (in UTC), a time as in the API, `now`, or
 * `6h` (six hours ago).
 */
export const readEarlier = (text: string): string => readTime(text, -1);

/** Reads a time in the future, in the same formats. `6h` means six hours from now. */
export const readLater = (text: string): string => readTime(text, 1);

function readTime(text: string, direction: 1 | -1): string {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const distance = text === 'now' ? 0 : Number(count) * (UNIT_MILLISECONDS[unit] ?? Number.NaN);
  if (Number.isFinite(distance)) return new Date(Date.now() + direction * distance).toISOString();
  if (DATE.test(text)) return `${text}T00:00:00Z`;
  const [, date, time = '', zone = 'Z'] = DATE_AND_TIME.exec(text) ?? [];
  if (date === undefined) {
    throw new InvalidArgumentError('It must be a time in UTC such as 2030-01-31, "2030-01-31 12:00", 6h or 7d.');
  }
  return `${date}T${time.length === 5 ? `${time}:00` : time}${zone}`;
}
