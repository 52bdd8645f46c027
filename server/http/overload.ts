import { performance } from 'node:perf_hooks';

const INTERVAL_MS = 100;
const SAMPLES = 10;

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
    this.#lags_ms.push(Math.max(0, now - this.#expected));
    if (this.#lags_ms.length > SAMPLES) this.#lags_ms.shift();
    const isEnough = this.#lags_ms.length === SAMPLES;
    this.#mean_ms = isEnough ? this.#lags_ms.reduce((sum, lag) => sum + lag, 0) / SAMPLES : 0;
    this.#expected = now + INTERVAL_MS;
  }
}
