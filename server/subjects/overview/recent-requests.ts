import type { RecentFigures, RequestFigures } from '../../../contract/service/overview.ts';
import {
  Latencies,
  OUTCOMES,
  type Outcomes,
  type ResponseCounter,
  type Series,
} from '../../calls/responses/response-counter.ts';
import type { StoredMinute } from '../../store/overview/service-process.ts';

export type Gauges = { readonly transfers: number; readonly laneWaiting: number };

/** Current figures cover the last minute. A shorter period has too few requests for a 99th percentile. */
const NOW_SECONDS = 60;

/** A quarter of an hour in points of five seconds takes six kilobytes of JSON, and a chart cannot show more points. */
const POINT_SECONDS = 5;
const MAX_POINTS = 180;

/** Maximum number of codes with separate lines in the chart. The others are added up in one line. */
const MAX_CODES = 8;

const OTHER_CODES = 'other';

/** The counts of one or more seconds. The objects for single seconds are reused after a minute. */
class Interval {
  readonly outcomes: Outcomes = { succeeded: 0, refused: 0, invalid: 0, failed: 0 };
  readonly latencies = new Latencies();
  readonly codes = new Map<string, number>();
  transfers = 0;
  laneWaiting = 0;
  milliseconds = 0;

  clear(): void {
    Object.assign(this.outcomes, { succeeded: 0, refused: 0, invalid: 0, failed: 0 });
    this.latencies.clear();
    this.codes.clear();
    this.transfers = 0;
    this.laneWaiting = 0;
    this.milliseconds = 0;
  }

  add(other: Interval): void {
    for (const name of OUTCOMES) this.outcomes[name] += other.outcomes[name];
    this.latencies.add(other.latencies);
    for (const [code, count] of other.codes) this.codes.set(code, count + (this.codes.get(code) ?? 0));
    this.transfers += other.transfers;
    this.laneWaiting = Math.max(this.laneWaiting, other.laneWaiting);
    this.milliseconds += other.milliseconds;
  }
}

/** The counts are null if the process was suspended. */
type Point = { readonly [Name in keyof Outcomes]: number | null } & {
  readonly transfers: number | null;
  readonly laneWaiting: number | null;
  readonly p50: number | null;
  readonly p99: number | null;
  readonly codes: ReadonlyMap<string, number>;
};

const SUSPENDED: Point = {
  succeeded: null,
  refused: null,
  invalid: null,
  failed: null,
  transfers: null,
  laneWaiting: null,
  p50: null,
  p99: null,
  codes: new Map(),
};

/**
 * Keeps statistics of this process's recent responses: the last minute by second, and the last quarter of an hour by point.
 * Outcomes and latencies cover requests that move money. Codes cover all responses except those to stray requests.
 */
export class RecentRequests {
  readonly #counter: ResponseCounter;
  /** The totals at the end of the last second. */
  readonly #outcomes: Outcomes = { succeeded: 0, refused: 0, invalid: 0, failed: 0 };
  readonly #latencies = new Latencies();
  readonly #counts = new Map<Series, number>();
  readonly #seconds = Array.from({ length: NOW_SECONDS + 1 }, () => new Interval());
  #ended = 0;
  #points: Point[] = [];
  #endedAt = performance.now();
  #pointEndedAt = performance.now();
  #transfers = 0;

  constructor(counter: ResponseCounter) {
    this.#counter = counter;
  }

  /** Completes the current second. Called once a second. */
  tick({ transfers, laneWaiting }: Gauges, now = performance.now()): void {
    const second = this.#second(0);
    this.#collect(second);
    second.transfers = transfers - this.#transfers;
    second.laneWaiting = laneWaiting;
    second.milliseconds = now - this.#endedAt;
    this.#transfers = transfers;
    this.#endedAt = now;
    this.#ended += 1;
    this.#second(0).clear();
    if (this.#ended % POINT_SECONDS === 0) this.#addPoint(now);
  }

  /** Fills a second with the counts since the end of the previous one. */
  #collect(second: Interval): void {
    const { series, outcomes, latencies } = this.#counter;
    for (const name of OUTCOMES) {
      second.outcomes[name] = outcomes[name] - this.#outcomes[name];
      this.#outcomes[name] = outcomes[name];
    }
    second.latencies.takeIncrease(latencies, this.#latencies);
    for (const one of series) {
      const { kind, code, count } = one;
      if (code === undefined || kind === 'stray') continue;
      const more = count - (this.#counts.get(one) ?? 0);
      if (more === 0) continue;
      this.#counts.set(one, count);
      second.codes.set(code, more + (second.codes.get(code) ?? 0));
    }
  }

  /** Returns the counts of the last minute, or since the start of the process if it started later. */
  minute(): StoredMinute {
    const sum = new Interval();
    for (let age = 1; age <= Math.min(this.#ended, NOW_SECONDS); age += 1) sum.add(this.#second(age));
    const { milliseconds, transfers, outcomes, latencies } = sum;
    return { milliseconds, transfers, ...outcomes, latencies: latencies.counts() };
  }

  now(): RequestFigures {
    return figuresOf([this.minute()]);
  }

  /** Returns the points of the last quarter of an hour, oldest first. `endedAt` is the time of the last tick. */
  recent(endedAt: Date): RecentFigures {
    const of = <Value>(value: (point: Point) => Value): Value[] => this.#points.map(value);
    return {
      ends_at: endedAt.toISOString(),
      interval_seconds: POINT_SECONDS,
      transfers: of(({ transfers }) => transfers),
      succeeded: of(({ succeeded }) => succeeded),
      refused: of(({ refused }) => refused),
      invalid: of(({ invalid }) => invalid),
      failed: of(({ failed }) => failed),
      p50_milliseconds: of(({ p50 }) => p50),
      p99_milliseconds: of(({ p99 }) => p99),
      lane_waiting: of(({ laneWaiting }) => laneWaiting),
      errors: this.#errors(),
    };
  }

  #errors(): RecentFigures['errors'] {
    const totals = new Map<string, number>();
    for (const { codes } of this.#points) {
      for (const [code, count] of codes) totals.set(code, count + (totals.get(code) ?? 0));
    }
    const ordered = [...totals].toSorted(([, left], [, right]) => right - left).map(([code]) => code);
    const shown = ordered.slice(0, MAX_CODES);
    const errors = shown.map((code) => ({ code, counts: this.#points.map(({ codes }) => codes.get(code) ?? 0) }));
    if (ordered.length <= MAX_CODES) return errors;
    const others = this.#points.map(({ codes }) =>
      [...codes].reduce((sum, [code, count]) => (shown.includes(code) ? sum : sum + count), 0),
    );
    return [...errors, { code: OTHER_CODES, counts: others }];
  }

  /** Returns a second by its age. Age 0 is the second in progress. */
  #second(age: number): Interval {
    const place = (this.#ended - age) % (NOW_SECONDS + 1);
    return this.#seconds[place] as Interval;
  }

  #addPoint(now: number): void {
    // A suspended process has added no points, so the chart shows a gap.
    const missed = Math.min(Math.round((now - this.#pointEndedAt) / 1000 / POINT_SECONDS) - 1, MAX_POINTS);
    for (let count = 0; count < missed; count += 1) this.#points.push(SUSPENDED);
    this.#pointEndedAt = now;
    const sum = new Interval();
    for (let age = 1; age <= POINT_SECONDS; age += 1) sum.add(this.#second(age));
    this.#points.push({
      ...sum.outcomes,
      transfers: sum.transfers,
      laneWaiting: sum.laneWaiting,
      p50: sum.latencies.quantile(0.5),
      p99: sum.latencies.quantile(0.99),
      codes: sum.codes,
    });
    this.#points = this.#points.slice(-MAX_POINTS);
  }
}

/** Returns the figures of one or more processes. Rates and counts are added up, and percentiles cover all requests. */
export function figuresOf(minutes: readonly StoredMinute[]): RequestFigures {
  const outcomes: Outcomes = { succeeded: 0, refused: 0, invalid: 0, failed: 0 };
  const latencies = new Latencies();
  let perSecond = 0;
  for (const minute of minutes) {
    for (const name of OUTCOMES) outcomes[name] += minute[name];
    latencies.addCounts(minute.latencies);
    perSecond += minute.milliseconds === 0 ? 0 : (minute.transfers * 1000) / minute.milliseconds;
  }
  const { succeeded, refused, invalid, failed } = outcomes;
  const all = succeeded + refused + invalid + failed;
  return {
    seconds: Math.round(Math.max(0, ...minutes.map(({ milliseconds }) => milliseconds)) / 1000),
    // Otherwise a few transfers in a minute would be 0.
    transfers_per_second: Number(perSecond.toFixed(perSecond < 10 ? 3 : 1)),
    requests: all,
    ...outcomes,
    success_ratio: all === 0 ? null : Number((succeeded / all).toFixed(4)),
    p50_milliseconds: latencies.quantile(0.5),
    p99_milliseconds: latencies.quantile(0.99),
  };
}
