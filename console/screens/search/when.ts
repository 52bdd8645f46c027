import type { Period } from '../../format/times.ts';

const HOUR_MILLISECONDS = 3_600_000;
const DAY = /(?:^|\s)(today|yesterday|\d{4}-\d\d-\d\d)(?=\s|$)/i;
const TIME = /(?:^|\s)(?:at\s+)?([01]?\d|2[0-3]):([0-5]\d)(?=\s|$)/i;
const AMOUNT = /(?:^|\s)[$€£¥]?\d[\d,]*(?:\.\d+)?[$€£¥]?(?=\s|$)/;

/** A search term without its time, and the time as a period. The bounds are empty if the term has no time. */
export type Timed = Pick<Period, 'from' | 'to'> & { readonly q: string };

/**
 * Splits the time from a search term that has an amount: `75 yesterday 14:00` is 75 between 13:30 and 14:30 of yesterday, in the
 * user's time zone. A time without a day is the last one before `now` (milliseconds since 1970).
 */
export function readWhen(text: string, now: number): Timed {
  const day = DAY.exec(text);
  const time = TIME.exec(text);
  const q = text.replace(DAY, ' ').replace(TIME, ' ').replaceAll(/\s+/g, ' ').trim();
  if ((day === null && time === null) || !AMOUNT.test(q)) return { q: text.trim(), from: '', to: '' };
  const start = startOfDay(day?.[1]?.toLowerCase(), now);
  if (Number.isNaN(start.getTime())) return { q: text.trim(), from: '', to: '' };
  const end = new Date(start);
  if (time === null) {
    end.setDate(end.getDate() + 1);
    return { q, from: start.toISOString(), to: end.toISOString() };
  }
  start.setHours(Number(time[1]), Number(time[2]), 0, 0);
  if (day === null && start.getTime() > now) start.setDate(start.getDate() - 1);
  const middle = start.getTime();
  const bound = (hours: number): string => new Date(middle + hours * HOUR_MILLISECONDS).toISOString();
  return { q, from: bound(-0.5), to: bound(0.5) };
}

function startOfDay(day: string | undefined, now: number): Date {
  const date = new Date(day === undefined || day === 'today' || day === 'yesterday' ? now : `${day}T00:00`);
  date.setHours(0, 0, 0, 0);
  if (day === 'yesterday') date.setDate(date.getDate() - 1);
  return date;
}
