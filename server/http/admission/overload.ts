import { performance } from 'node:perf_hooks';

const INTERVAL_MS = 100;
const SAMPLES = 10;

/** What one sample counts at most, in milliseconds, so that one pause, however long, is not taken for a loop that is behind. */
const SAMPLE_MAX_MS = 500;

/**
 * Measures how late the event loop is, as the mean over ten samples: one long pause (a collection of garbage, a
 * machine that slept) sheds nothing, a loop that is behind for a second does.
 */
export class EventLoopLag {
  readonly #lags_ms: number[] = [];
  #expected = 0;
  #mean_ms = 0;
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    this.#expected = performance.now() + INTERVAL_MS;
    this.#timer = setInterval(() => this.#sample(), INTERVAL_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#lags_ms.length = 0;
    this.#mean_ms = 0;
  }

  /** Mean lag over the last samples, in milliseconds; 0 until there are enough of them. Asked by every request. */
  mean(): number {
    return this.#mean_ms;
  }

  #sample(): void {
    const now = performance.now();
    this.#lags_ms.push(Math.min(Math.max(0, now - this.#expected), SAMPLE_MAX_MS));
    if (this.#lags_ms.length > SAMPLES) this.#lags_ms.shift();
    const isEnough = this.#lags_ms.length === SAMPLES;
    this.#mean_ms = isEnough ? this.#lags_ms.reduce((sum, lag) => sum + lag, 0) / SAMPLES : 0;
    this.#expected = now + INTERVAL_MS;
  }
}

/** Requests that are begun in so many milliseconds, at most; more wait for the next turn of the event loop. */
const PORTION = 64;
const PORTION_MS = 20;

type Waiting = { readonly begin: () => void; readonly refuse: () => void; readonly since: number };

/**
 * Begins requests in portions. Node reads everything that has arrived in one turn of its loop, and until the turn ends no
 * timer runs and nothing that waits for the database goes on: with thousands of callers, answering them that there is no
 * time would take all of it. So a turn begins a portion, and what is under way gets its turn between two of them.
 */
export class Intake {
  readonly #patience_ms: number;
  readonly #waiting: Waiting[] = [];
  #began = 0;
  #begun = 0;

  /** What has waited for longer than `patience_ms` is refused when its turn comes. */
  constructor(patience_ms: number) {
    this.#patience_ms = patience_ms;
  }

  /** Calls `begin`, at once or in a later turn, or `refuse`. Neither may throw. */
  take(begin: () => void, refuse: () => void): void {
    const now = performance.now();
    if (now - this.#began > PORTION_MS) {
      this.#began = now;
      this.#begun = 0;
    }
    const isFree = this.#waiting.length === 0;
    if (isFree && this.#begun < PORTION) {
      this.#begun += 1;
      begin();
      return;
    }
    this.#waiting.push({ begin, refuse, since: now });
    if (isFree) setImmediate(() => this.#beginPortion());
  }

  #beginPortion(): void {
    const now = performance.now();
    // What has had its turn is let go of at once: in a crowd that lasts, this is never empty.
    for (const { begin, refuse, since } of this.#waiting.splice(0, PORTION)) {
      if (now - since > this.#patience_ms) refuse();
      else begin();
    }
    if (this.#waiting.length > 0) {
      setImmediate(() => this.#beginPortion());
      return;
    }
    this.#began = performance.now();
    this.#begun = PORTION;
  }
}
