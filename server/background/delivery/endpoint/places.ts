import { performance } from 'node:perf_hooks';

/** The place of an event to send: its position or its number. */
export type Place = { readonly place: number; isDone: boolean };

const RANGE = /\[([0-9]+),([0-9]+)\)/g;

/** Maximum number of finished entries that stay in the list before the first open entry. */
const MAX_PASSED = 1_000;

/**
 * The progress of a cursor over events that finish in any order. Every event up to `passed` has been delivered, has been stored as
 * failed, or is excluded by the filter.
 */
export class Places {
  /** The place of the last event taken from the feed. */
  readTo: number;
  #open: Place[] = [];
  /** The index of the first entry of `#open` that is not done. */
  #first = 0;
  /** The events that were settled before the cursor was read, as ranges. `from` is inclusive, `to` is exclusive. */
  readonly #settled: readonly { readonly from: number; readonly to: number }[];

  /** `ahead` is a stored value of {@link Places.ahead}. */
  constructor(start: number, ahead = '{}') {
    this.readTo = start;
    this.#settled = [...ahead.matchAll(RANGE)].map(([, from, to]) => ({ from: Number(from), to: Number(to) }));
  }

  /** Returns whether an event after the cursor was settled before the cursor was read. */
  isSettled(place: number): boolean {
    return this.#settled.some(({ from, to }) => from <= place && place < to);
  }

  add(place: number): Place {
    const added = { place, isDone: false };
    this.readTo = place;
    this.#open.push(added);
    return added;
  }

  get passed(): number {
    while (this.#open[this.#first]?.isDone) this.#first += 1;
    if (this.#first === this.#open.length || this.#first > MAX_PASSED) {
      this.#open = this.#open.slice(this.#first);
      this.#first = 0;
    }
    const open = this.#open[this.#first];
    return open === undefined ? this.readTo : open.place - 1;
  }

  /**
   * The places after `passed` that are done, as a multirange of PostgreSQL. There are at most as many ranges as events in flight,
   * because a range also includes the excluded events between its done events.
   */
  get ahead(): string {
    const ranges: string[] = [];
    let from: number | undefined;
    let to = this.passed;
    for (const { place, isDone } of this.#open.slice(this.#first)) {
      if (isDone) {
        from ??= place;
        to = place + 1;
      } else if (from !== undefined) {
        ranges.push(`[${from},${to})`);
        from = undefined;
      }
    }
    if (from !== undefined) ranges.push(`[${from},${to})`);
    return `{${ranges.join(',')}}`;
  }

  /** Continues after a later place. Open events before that place no longer count. */
  skipTo(place: number): void {
    this.readTo = place;
    this.#open = [];
    this.#first = 0;
  }
}

/** After a pause, a burst may have as many requests as the rate allows in this time, in milliseconds. */
const BURST_MILLISECONDS = 100;

/** Spaces requests so that their rate stays below a limit. */
export class RateLimit {
  /** When the next request is due if requests are spaced evenly. */
  #nextAt = 0;

  /** Returns how many milliseconds the next request has to wait. `perSecond` is null if there is no limit. */
  waitFor(perSecond: number | null): number {
    if (perSecond === null) return 0;
    const waitMilliseconds = this.#nextAt - BURST_MILLISECONDS - performance.now();
    return waitMilliseconds > 0 ? Math.ceil(waitMilliseconds) : 0;
  }

  use(perSecond: number | null): void {
    if (perSecond !== null) this.#nextAt = Math.max(this.#nextAt, performance.now()) + 1000 / perSecond;
  }
}
