import { InvalidArgumentError } from 'commander';

const UNIT_MILLISECONDS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a time of the past: `2030-01-31T12:00:00Z`, `2030-01-31` for its midnight in UTC, `now`, or `6h` for six hours ago. */
export const readEarlier = (text: string): string => readTime(text, -1);

/** Reads a time to come: the same, with `6h` for six hours from now. */
export const readLater = (text: string): string => readTime(text, 1);

function readTime(text: string, direction: 1 | -1): string {
  const [, count, unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  const distance = text === 'now' ? 0 : Number(count) * (UNIT_MILLISECONDS[unit] ?? Number.NaN);
  if (Number.isFinite(distance)) return new Date(Date.now() + direction * distance).toISOString();
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return `${text}T00:00:00Z`;
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text)) {
    throw new InvalidArgumentError('It must be a time such as 2030-01-31T12:00:00Z, 2030-01-31, 6h or 7d.');
  }
  return text;
}
