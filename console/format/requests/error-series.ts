import type { ErrorCounts } from '../../../sdk/client.ts';
import type { Series, SeriesTone } from '../charts/paths.ts';

export type CodeTotal = {
  readonly code: string;
  readonly type: ErrorCounts['data'][number]['type'];
  readonly count: number;
};

export type ErrorSeries = {
  /** The start of each interval in seconds since 1970, including intervals without errors. */
  readonly times: readonly number[];
  /** The most frequent codes, and one series for all others. */
  readonly series: readonly Series[];
  /** Every code, the most frequent first. */
  readonly totals: readonly CodeTotal[];
};

const TONES: readonly SeriesTone[] = ['ink', 'waiting', 'fourth', 'fifth', 'process'];
const INTERVAL_SECONDS = { hour: 3_600, day: 86_400 } as const;

export function toErrorSeries({ interval, from, to, data }: ErrorCounts): ErrorSeries {
  const step = INTERVAL_SECONDS[interval];
  const first = secondsOf(from);
  const length = Math.max(0, Math.ceil((secondsOf(to) - first) / step));
  const times = Array.from({ length }, (_, index) => first + index * step);
  const totals = totalsOf(data);
  const shown = totals.slice(0, TONES.length).map(({ code }) => code);
  const valuesOf = (isWanted: (code: string) => boolean): number[] => {
    const values = times.map(() => 0);
    for (const { start, code, count } of data) {
      const at = Math.floor((secondsOf(start) - first) / step);
      if (isWanted(code) && at >= 0 && at < length) values[at] = (values[at] ?? 0) + count;
    }
    return values;
  };
  const series: Series[] = shown.map((code, index) => ({
    label: code,
    tone: TONES[index] ?? 'quiet',
    values: valuesOf((other) => other === code),
  }));
  const others = totals.length - shown.length;
  if (others > 0) {
    const label = others === 1 ? '1 other code' : `${others} other codes`;
    series.push({ label, tone: 'quiet', values: valuesOf((code) => !shown.includes(code)) });
  }
  return { times, series, totals };
}

function totalsOf(data: ErrorCounts['data']): readonly CodeTotal[] {
  const totals = new Map<string, CodeTotal>();
  for (const { code, type, count } of data) {
    totals.set(code, { code, type, count: (totals.get(code)?.count ?? 0) + count });
  }
  return [...totals.values()].sort((one, other) => other.count - one.count || (one.code < other.code ? -1 : 1));
}

function secondsOf(iso: string): number {
  return Math.floor(Date.parse(iso) / 1000);
}
