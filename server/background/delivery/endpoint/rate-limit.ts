import { performance } from 'node:perf_hooks';

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
