import { performance } from 'node:perf_hooks';

const INTERVAL_MILLISECONDS = 100;
const SAMPLES = 10;

/** What one sample counts at most, in milliseconds, so that one pause, however long, is not taken for a loop that is behind. */
const MAX_SAMPLE_MILLISECONDS = 500;

/**
 * Measures how late the event loop is, as the mean over ten samples: one long pause (a collection of garbage, a
 * machine that slept) sheds nothing, a loop that is behind for a second does.
 */
export class EventLoopLag {
  readonly #lagsMilliseconds: number[] = [];
  #expected = 0;
  #meanMilliseconds = 0;
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    this.#expected = performance.now() + INTERVAL_MILLISECONDS;
    this.#timer = setInterval(() => this.#sample(), INTERVAL_MILLISECONDS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#lagsMilliseconds.length = 0;
    this.#meanMilliseconds = 0;
  }

  /** Mean lag over the last samples, in milliseconds; 0 until there are enough of them. Asked by every request. */
  mean(): number {
    return this.#meanMilliseconds;
  }

  #sample(): void {
    const now = performance.now();
    this.#lagsMilliseconds.push(Math.min(Math.max(0, now - this.#expected), MAX_SAMPLE_MILLISECONDS));
    if (this.#lagsMilliseconds.length > SAMPLES) this.#lagsMilliseconds.shift();
    const isEnough = this.#lagsMilliseconds.length === SAMPLES;
    this.#meanMilliseconds = isEnough ? this.#lagsMilliseconds.reduce((sum, lag) => sum + lag, 0) / SAMPLES : 0;
    this.#expected = now + INTERVAL_MILLISECONDS;
  }
}

/** Requests that are begun in so many milliseconds, at most; more wait for the next turn of the event loop. */
const BATCH_SIZE = 64;
const BATCH_INTERVAL_MILLISECONDS = 20;

type Waiting = { readonly begin: () => void; readonly refuse: () => void; readonly since: number };

/**
 * Begins requests in portions. Node reads everything that has arrived in one turn of its loop, and until the turn ends no
 * timer runs and nothing that waits for the database goes on: with thousands of callers, answering them that there is no
 * time would take all of it. So a turn begins a portion, and what is under way gets its turn between two of them.
 */
export class AdmissionQueue {
  readonly #maxWaitMilliseconds: number;
  readonly #waiting: Waiting[] = [];
  #began = 0;
  #begun = 0;

  /** What has waited for longer than `maxWaitMilliseconds` is refused when its turn comes. */
  constructor(maxWaitMilliseconds: number) {
    this.#maxWaitMilliseconds = maxWaitMilliseconds;
  }

  /** Calls `begin`, at once or in a later turn, or `refuse`. Neither may throw. */
  take(begin: () => void, refuse: () => void): void {
    const now = performance.now();
    if (now - this.#began > BATCH_INTERVAL_MILLISECONDS) {
      this.#began = now;
      this.#begun = 0;
    }
    const isFree = this.#waiting.length === 0;
    if (isFree && this.#begun < BATCH_SIZE) {
      this.#begun += 1;
      begin();
      return;
    }
    this.#waiting.push({ begin, refuse, since: now });
    if (isFree) setImmediate(() => this.#beginBatch());
  }

  #beginBatch(): void {
    const now = performance.now();
    // What has had its turn is let go of at once: in a crowd that lasts, this is never empty.
    for (const { begin, refuse, since } of this.#waiting.splice(0, BATCH_SIZE)) {
      if (now - since > this.#maxWaitMilliseconds) refuse();
      else begin();
    }
    if (this.#waiting.length > 0) {
      setImmediate(() => this.#beginBatch());
      return;
    }
    this.#began = performance.now();
    this.#begun = BATCH_SIZE;
  }
}
