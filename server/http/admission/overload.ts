import { performance } from 'node:perf_hooks';

const INTERVAL_MILLISECONDS = 100;
const SAMPLES = 10;

/** The maximum value of a sample, so that a single long pause does not count as overload. */
const MAX_SAMPLE_MILLISECONDS = 500;

/**
 * Measures the event loop lag as the mean of ten samples. A single long pause, such as a garbage collection, is not overload. A lag
 * that lasts for a second is.
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

  /** Returns the mean lag of the last samples in milliseconds, or 0 if there are not ten yet. Called for every request. */
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

/** Maximum number of requests that start in one turn of the event loop. The others wait for the next turn. */
const BATCH_SIZE = 64;
const BATCH_INTERVAL_MILLISECONDS = 20;

type Waiting = { readonly begin: () => void; readonly refuse: () => void; readonly since: number };

/**
 * Starts requests in batches. Node reads all received requests in one turn of the event loop. During that turn, no timer runs and
 * no database response is handled. With thousands of callers, even refusing them all would take the whole turn. So each turn starts
 * one batch, and requests in progress continue between the batches.
 */
export class AdmissionQueue {
  readonly #maxWaitMilliseconds: number;
  readonly #waiting: Waiting[] = [];
  #batchBeganAt = 0;
  #begunInBatch = 0;

  /** `maxWaitMilliseconds` is the longest wait. After this time, a request is refused. */
  constructor(maxWaitMilliseconds: number) {
    this.#maxWaitMilliseconds = maxWaitMilliseconds;
  }

  /** Calls `begin` or `refuse`, now or in a later turn. They must not throw. */
  take(begin: () => void, refuse: () => void): void {
    const now = performance.now();
    if (now - this.#batchBeganAt > BATCH_INTERVAL_MILLISECONDS) {
      this.#batchBeganAt = now;
      this.#begunInBatch = 0;
    }
    const isFree = this.#waiting.length === 0;
    if (isFree && this.#begunInBatch < BATCH_SIZE) {
      this.#begunInBatch += 1;
      begin();
      return;
    }
    this.#waiting.push({ begin, refuse, since: now });
    if (isFree) setImmediate(() => this.#beginBatch());
  }

  #beginBatch(): void {
    const now = performance.now();
    // Started requests are removed now, because under a constant load the queue never becomes empty.
    for (const { begin, refuse, since } of this.#waiting.splice(0, BATCH_SIZE)) {
      if (now - since > this.#maxWaitMilliseconds) refuse();
      else begin();
    }
    if (this.#waiting.length > 0) {
      setImmediate(() => this.#beginBatch());
      return;
    }
    this.#batchBeganAt = performance.now();
    this.#begunInBatch = BATCH_SIZE;
  }
}
