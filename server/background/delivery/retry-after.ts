/** Longer than any pause that Retry-After can lengthen. */
const MAX_SECONDS = 1_000_000;

/**
 * The milliseconds that a Retry-After header asks to wait: seconds, or a date of HTTP compared with `now` (milliseconds
 * since 1970). Null for anything else.
 */
export function readRetryAfter(text: string | null, now: number): number | null {
  const trimmed = text?.trim() ?? '';
  if (/^[0-9]{1,10}$/.test(trimmed)) return Math.min(Number(trimmed), MAX_SECONDS) * 1000;
  // Date.parse also takes forms that are no dates of HTTP, such as a number.
  if (!/^[A-Za-z]{3,9},? /.test(trimmed)) return null;
  const moment = Date.parse(trimmed);
  return Number.isNaN(moment) ? null : Math.max(0, moment - now);
}
