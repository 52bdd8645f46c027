import type { Overview } from '../../sdk/client.ts';
import { formatCount } from './amounts.ts';
import type { SeriesTone, Value } from './charts/paths.ts';
import { formatNumber } from './operators/switch.ts';
import { formatLatency, formatShare } from './overview.ts';

/** One of the figures of the last minute. */
export type Figure = {
  readonly name: string;
  /** Undefined if there were no requests, so that there is no share or latency. */
  readonly value: string | undefined;
  /** The values of which this one consists. */
  readonly note: string;
  /** The value in the minutes before. */
  readonly before: string;
  readonly tone: SeriesTone;
  /** The values of the last 15 minutes, oldest first, for a sparkline. */
  readonly trend: readonly Value[];
  /** The minimum value at the upper edge of the sparkline. */
  readonly floor: number;
};

type Recent = Overview['recent'];

const NOTHING_BEFORE = 'no earlier requests';
const MINUTE_SECONDS = 60;

/** A sparkline has a value for every third interval. */
const TREND_STEP = 3;

/** Up to this share, refusals and failures are at the lower edge of their sparkline. */
const SHARE_FLOOR = 0.05;

/** From this share of refusals, the figure has a color. */
const MANY_REFUSED = 0.2;

/**
 * Returns the four figures of the last minute of all processes, or of this one while the database doesn't respond. The values of
 * the minutes before, and the sparklines, are of this process.
 */
export function overviewFigures({
  all,
  now,
  recent,
  lane_waiting: queued,
}: Pick<Overview, 'all' | 'now' | 'recent' | 'lane_waiting'>): readonly Figure[] {
  const figures = all ?? now;
  const requests = sums([recent.succeeded, recent.refused, recent.invalid, recent.failed]);
  const refused = sums([recent.refused, recent.invalid]);
  return [
    transfersFigure(figures, recent, queued),
    refusedFigure(figures, recent, refused, requests),
    failedFigure(figures, recent, requests),
    latencyFigure(figures, recent),
  ];
}

function transfersFigure(
  { transfers_per_second: rate, seconds }: Overview['now'],
  recent: Recent,
  queued: number,
): Figure {
  const length = MINUTE_SECONDS / recent.interval_seconds;
  const known = knownOf(recent.transfers.slice(0, -length));
  const perMinute = known.length < length ? undefined : (total(known) / known.length) * length;
  return {
    name: 'Transfers',
    value: formatCount(Math.round(rate * seconds)),
    note: `${formatRate(rate)} per second${queued > 0 ? `, ${formatCount(queued)} queued now` : ''}`,
    before: perMinute === undefined ? 'no earlier minutes' : `${formatRate(perMinute)} a minute`,
    tone: 'good',
    trend: sampled(recent.transfers.map((_, at) => wholeWindow(recent.transfers, at, length))),
    floor: 1,
  };
}

function refusedFigure(
  { requests, refused, invalid }: Overview['now'],
  recent: Recent,
  counts: readonly Value[],
  all: readonly Value[],
): Figure {
  const share = requests === 0 ? undefined : (refused + invalid) / requests;
  const parts = [
    refused > 0 && `${formatCount(refused)} declined`,
    invalid > 0 && formatNumber(invalid, 'other client error'),
  ].filter((text) => text !== false);
  return {
    name: 'Refused',
    value: share === undefined ? undefined : formatShare(share),
    note: parts.length > 0 ? parts.join(', ') : ofRequests(0, requests),
    ...trendOfShare(recent, counts, all),
    tone: share !== undefined && share >= MANY_REFUSED ? 'waiting' : 'quiet',
  };
}

function failedFigure({ requests, failed }: Overview['now'], recent: Recent, all: readonly Value[]): Figure {
  return {
    name: 'Failed',
    value: requests === 0 ? undefined : formatShare(failed / requests),
    note: ofRequests(failed, requests),
    ...trendOfShare(recent, recent.failed, all),
    tone: failed > 0 ? 'bad' : 'quiet',
  };
}

function latencyFigure(
  { p50_milliseconds: p50, p99_milliseconds: p99 }: Overview['now'],
  { p99_milliseconds: values, interval_seconds: seconds }: Recent,
): Figure {
  const trend = sampled(values.map((_, at) => highest(values.slice(Math.max(0, at - TREND_STEP + 1), at + 1))));
  const earlier = knownOf(trend.slice(0, -(MINUTE_SECONDS / seconds / TREND_STEP))).toSorted((one, two) => one - two);
  const usual = earlier[Math.floor(earlier.length / 2)];
  return {
    name: 'Latency, p99',
    value: p99 === null ? undefined : formatLatency(p99),
    note: p50 === null ? 'no requests' : `half within ${formatLatency(p50)}`,
    before: usual === undefined ? NOTHING_BEFORE : `usually ${formatLatency(usual)}`,
    tone: 'process',
    trend,
    floor: 1,
  };
}

/** Returns the trend of a share, and its value before the last minute. */
function trendOfShare({ interval_seconds: seconds }: Recent, counts: readonly Value[], all: readonly Value[]) {
  const length = MINUTE_SECONDS / seconds;
  const shareOf = (from: number, to: number): Value => {
    const requests = total(knownOf(all.slice(from, to)));
    return requests === 0 ? null : total(knownOf(counts.slice(from, to))) / requests;
  };
  const before = shareOf(0, Math.max(0, all.length - length));
  return {
    before: before === null ? NOTHING_BEFORE : formatShare(before),
    trend: sampled(all.map((_, at) => shareOf(Math.max(0, at - length + 1), at + 1))),
    floor: SHARE_FLOOR,
  };
}

/** Returns the sum of the minute that ends with a value, or null unless the whole minute is known. */
function wholeWindow(values: readonly Value[], at: number, length: number): Value {
  const found = knownOf(values.slice(Math.max(0, at - length + 1), at + 1));
  return found.length < length ? null : total(found);
}

/** Keeps every third value, including the last. */
function sampled(values: readonly Value[]): readonly Value[] {
  return values.filter((_, at) => (values.length - 1 - at) % TREND_STEP === 0);
}

function sums(rows: readonly (readonly Value[])[]): readonly Value[] {
  return (rows[0] ?? []).map((first, at) => (first === null ? null : total(rows.map((row) => row[at] ?? 0))));
}

function knownOf(values: readonly Value[]): readonly number[] {
  return values.filter((value) => value !== null);
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function highest(values: readonly Value[]): Value {
  const found = knownOf(values);
  return found.length === 0 ? null : Math.max(...found);
}

function ofRequests(count: number, requests: number): string {
  return requests === 0 ? 'no requests' : `${formatCount(count)} of ${formatNumber(requests, 'request')}`;
}

/** Formats a rate with as many digits as are useful: `0.017`, `41.7`, `2,230`. */
export function formatRate(rate: number): string {
  if (rate < 1) return rate.toLocaleString('en-US', { maximumSignificantDigits: 2 });
  return rate.toLocaleString('en-US', { maximumFractionDigits: rate < 100 ? 1 : 0 });
}
