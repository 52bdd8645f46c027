import { performance } from 'node:perf_hooks';

/** The place of an event that is to be sent. */
export type Place = { readonly place: number; isDone: boolean };

/** A range of a multirange. */
const RANGE = /\[([0-9]+),([0-9]+)\)/g;

/** Entries before the first open one that are kept until they are removed together. */
const MAX_PASSED = 1_000;

/**
 * How far a cursor has come over events that end in any order: every event up to `passed` was delivered, stored as failed,
 * or was not to be sent.
 */
export class Places {
  /** The last place that was read. */
  readTo: number;
  #open: Place[] = [];
  /** The first of `#open` that is not done. */
  #first = 0;
  /** What was settled when the cursor was read: from a place up to and without another. */
  readonly #settled: readonly { readonly from: number; readonly to: number }[];

  /** `ahead` is what {@link Places.ahead} was. */
  constructor(start: number, ahead = '{}') {
    this.readTo = start;
    this.#settled = [...ahead.matchAll(RANGE)].map(([, from, to]) => ({ from: Number(from), to: Number(to) }));
  }

  /** Whether an event after the cursor was settled already. */
  isSettled(place: number): boolean {
    return this.#settled.some(({ from, to }) => from <= place && place < to);
  }

  /** Adds the next event that is to be sent. */
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
   * What is done after `passed`, as a multirange of PostgreSQL. There are no more ranges than events in flight, because
   * events between two others that were not to be sent are part of a range.
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

  /** Goes on from a later place. What is open before it no longer counts. */
  skipTo(place: number): void {
    this.readTo = place;
    this.#open = [];
    this.#first = 0;
  }
}

/** Requests of this time may be sent at once after a pause. */
const BURST_MILLISECONDS = 100;

/** Spaces requests so that no more than some are sent in a second. */
export class RateLimit {
  /** When the next request would be due if they were all spaced alike. */
  #nextAt = 0;

  /** How many milliseconds the next request has to wait; `perSecond` is null without a limit. */
  waitFor(perSecond: number | null): number {
    if (perSecond === null) return 0;
    const waitMilliseconds = this.#nextAt - BURST_MILLISECONDS - performance.now();
    return waitMilliseconds > 0 ? Math.ceil(waitMilliseconds) : 0;
  }

  /** Notes a request. */
  use(perSecond: number | null): void {
    if (perSecond !== null) this.#nextAt = Math.max(this.#nextAt, performance.now()) + 1000 / perSecond;
  }
}
