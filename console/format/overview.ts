import type { Overview, TRANSFER_TYPES } from '../../sdk/client.ts';
import { formatCount } from './amounts.ts';

type TransferType = (typeof TRANSFER_TYPES)[number];

const HOUR_MILLISECONDS = 3_600_000;

/** Returns the ends of intervals of equal length, in seconds since 1970, for a chart. */
export function endsOf(endsAt: string, intervalSeconds: number, count: number): number[] {
  const last = Math.round(Date.parse(endsAt) / 1000);
  return Array.from({ length: count }, (_, at) => last - (count - 1 - at) * intervalSeconds);
}

/** Pads values at the front to a count. The padding is null, because values that old are not known. */
export function padded(values: readonly (number | null)[], count: number): (number | null)[] {
  const known = values.slice(-count);
  return [...Array.from({ length: count - known.length }, () => null), ...known];
}

/** Formats a share as a percentage: `99.68 %`. A share below 1 is never `100 %`. */
export function formatShare(share: number): string {
  const percent = share * 100;
  const digits = percent === 100 || percent === 0 ? 0 : 2;
  const text = percent.toFixed(digits);
  return `${digits === 2 && text === '100.00' ? '99.99' : text} %`;
}

/** Formats a latency: `3.4 ms`, `250 ms`, `1.2 s`. */
export function formatLatency(milliseconds: number): string {
  return milliseconds < 1_000 ? `${milliseconds} ms` : `${(milliseconds / 1_000).toFixed(1)} s`;
}

/** Formats a size: `512 bytes`, `1.2 MB`, `3.4 GB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  const power = Math.min(Math.floor(Math.log10(bytes) / 3), units.length);
  return `${(bytes / 1_000 ** power).toFixed(1)} ${units[power - 1]}`;
}

/** Formats a delay in seconds. Delays below two seconds don't count, because the jobs run every second. */
export function formatDelay(seconds: number | null, none = 'on time'): string {
  if (seconds === null) return UNAVAILABLE;
  if (seconds < 2) return none;
  if (seconds < 120) return `${Math.round(seconds)} s late`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min late` : `${Math.round(seconds / 3_600)} h late`;
}

/** Shown instead of values from the database while it doesn't respond. */
export const UNAVAILABLE = 'Unavailable while the database is down';

/** The first line of the overview. */
export type Health = { readonly tone: '' | 'unknown' | 'fault'; readonly sentence: string };

/** From this share of failed requests, the first line reports a fault. */
const FAULT_SHARE = 0.1;

/** From this share of refused requests, the first line counts them. */
const REFUSED_SHARE = 0.2;

/** With fewer requests in a minute, a share of refusals is no reason for concern. */
const MIN_REQUESTS = 5;

type Minutes = Pick<Overview, 'all' | 'now' | 'recent'>;

function requestsThatMoveMoney(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'request that moves' : 'requests that move'} money`;
}

/** Describes the failed requests of the last minute, or those shortly before. Returns undefined if there were none. */
function failuresOf({ all, now, recent }: Minutes): Health | undefined {
  const { requests, failed } = all ?? now;
  if (failed > 0) {
    const isFault = failed >= requests * FAULT_SHARE;
    const what = isFault ? 'The service fails' : 'Some requests fail';
    const sentence = `${what}: ${formatCount(failed)} of ${requestsThatMoveMoney(requests)} in the last minute.`;
    return { tone: isFault ? 'fault' : 'unknown', sentence };
  }
  const earlier = recent.failed.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  if (earlier === 0) return undefined;
  const sentence = `The service works again: ${requestsThatMoveMoney(earlier)} failed in the last 15 minutes, but none in the last minute.`;
  return { tone: 'unknown', sentence };
}

/** Describes the refused requests of the last minute if they are many. */
function refusalsOf({ all, now }: Minutes, has: { readonly failures: boolean }): Health | undefined {
  const { requests, refused, invalid } = all ?? now;
  const count = refused + invalid;
  if (count === 0 || count < requests * REFUSED_SHARE) return undefined;
  const tone = requests < MIN_REQUESTS ? '' : 'unknown';
  if (has.failures) return { tone, sentence: `It refused ${formatCount(count)} more.` };
  const of = `${formatCount(count)} of ${requestsThatMoveMoney(requests)} in the last minute`;
  return { tone, sentence: `The service works, but it refused ${of}.` };
}

/** Says whether the service works, and with how many processes. The sentence never contradicts the figures below it. */
export function healthOf(
  { status, processes, ...minutes }: Pick<Overview, 'status' | 'processes'> & Minutes,
  /** The number of lines in the list of everything that needs attention. */
  concerns: number,
): Health {
  if (!status.readiness.ready) return { tone: 'fault', sentence: 'The service is not ready: transfers fail.' };
  const failures = failuresOf(minutes);
  if (status.switch.service_disabled === true) {
    // The switch refuses requests on purpose, and the list has a line about it.
    const stop: Health = { tone: 'unknown', sentence: 'All transfers are stopped.' };
    return together([stop, failures, attentionTo(concerns - 1, true)].filter(isThere));
  }
  const trouble = [failures, refusalsOf(minutes, { failures: failures !== undefined })].filter(isThere);
  const attention = attentionTo(concerns, false);
  if (trouble.length > 0) return together([...trouble, attention].filter(isThere));
  const alive = (processes ?? []).filter(({ alive: isAlive }) => isAlive).length;
  const who = alive > 1 ? `, with ${alive} processes` : '';
  if (attention === undefined) return { tone: '', sentence: `Everything works${who}.` };
  return together([{ tone: '', sentence: `The service works${who}.` }, attention]);
}

function attentionTo(count: number, hasStop: boolean): Health | undefined {
  if (count <= 0) return undefined;
  const other = hasStop ? 'other ' : '';
  const sentence = count === 1 ? `One ${other}thing needs attention.` : `${count} ${other}things need attention.`;
  return { tone: 'unknown', sentence };
}

/** Joins sentences. The most serious tone wins. */
function together(parts: readonly Health[]): Health {
  const tone = (['fault', 'unknown'] as const).find((one) => parts.some((part) => part.tone === one)) ?? '';
  return { tone, sentence: parts.map(({ sentence }) => sentence).join(' ') };
}

function isThere(part: Health | undefined): part is Health {
  return part !== undefined;
}

/** Whether no requests to move money arrived lately, and no transfers were created for a day. */
export function isUnused({ all, now, recent, hours }: Minutes & Pick<Overview, 'hours'>): boolean {
  const counts = [recent.transfers, recent.succeeded, recent.refused, recent.invalid, recent.failed];
  return (
    hours?.length === 0 &&
    (all ?? now).requests === 0 &&
    (all ?? now).transfers_per_second === 0 &&
    counts.every((values) => values.every((value) => (value ?? 0) === 0))
  );
}

/** Returns the counts of every hour of a day, including empty hours, which the service leaves out. */
export function hourlySeries<Name extends string>(
  names: readonly Name[],
  counts: readonly { readonly start: string; readonly name: Name; readonly count: number }[],
  now: number,
): { readonly times: number[]; readonly values: ReadonlyMap<Name, readonly number[]> } {
  const last = Math.floor(now / HOUR_MILLISECONDS);
  const hours = Array.from({ length: 25 }, (_, at) => last - 24 + at);
  const values = new Map(names.map((name) => [name, hours.map(() => 0)]));
  for (const { start, name, count } of counts) {
    const at = hours.indexOf(Math.floor(Date.parse(start) / HOUR_MILLISECONDS));
    const row = values.get(name);
    if (row !== undefined && at !== -1) row[at] = (row[at] ?? 0) + count;
  }
  return { times: hours.map((hour) => hour * 3_600), values };
}

export function transfersByHour(hours: NonNullable<Overview['hours']>, types: readonly TransferType[], now: number) {
  return hourlySeries(
    types,
    hours.map(({ start, type, transfers }) => ({ start, name: type, count: transfers })),
    now,
  );
}

const MAX_CODES = 7;

/** Returns the errors of every hour of a day: the most frequent codes, and all others as `other`. */
export function errorsByHour(
  counts: readonly { readonly start: string; readonly code: string; readonly count: number }[],
  now: number,
): {
  readonly times: number[];
  readonly series: readonly { readonly code: string; readonly values: readonly number[] }[];
} {
  const totals = new Map<string, number>();
  for (const { code, count } of counts) totals.set(code, count + (totals.get(code) ?? 0));
  const ordered = [...totals].toSorted(([, left], [, right]) => right - left).map(([code]) => code);
  const shown = ordered.slice(0, MAX_CODES);
  const names = ordered.length > shown.length ? [...shown, 'other'] : shown;
  const named = counts.map(({ start, code, count }) => ({ start, name: shown.includes(code) ? code : 'other', count }));
  const { times, values } = hourlySeries(names, named, now);
  return { times, series: names.map((code) => ({ code, values: values.get(code) ?? [] })) };
}
