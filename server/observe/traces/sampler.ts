/**
 * Maximum requests per second that are traced because their callers want it: a caller must not decide what tracing
 * costs.
 */
const MAX_WANTED_PER_SECOND = 10;

/**
 * Hex digits of a trace id that are compared with the ratio, as in other samplers, so that all choose the same traces.
 */
const COMPARED_DIGITS = 13;

/** The flag of a caller that records the trace. */
const SAMPLED = 1;

/** Decides which requests are traced, before any other work on the trace. */
export class Sampler {
  readonly #ratio: number;
  #second = 0;
  #wanted = 0;

  /** `ratio` from 0 to 1. */
  constructor(ratio: number) {
    this.#ratio = ratio;
  }

  /** Whether to trace a request; `now` by `performance.now()`. */
  takes(traceparent: string | undefined, now: number): boolean {
    if (traceparent === undefined) return Math.random() < this.#ratio;
    const share = Number.parseInt(traceparent.slice(35 - COMPARED_DIGITS, 35), 16) / 16 ** COMPARED_DIGITS;
    if (share < this.#ratio) return true;
    const isWanted = (Number.parseInt(traceparent.slice(53, 55), 16) & SAMPLED) === SAMPLED;
    return isWanted && this.#takesWanted(now);
  }

  #takesWanted(now: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#wanted = 0;
    }
    this.#wanted += 1;
    return this.#wanted <= MAX_WANTED_PER_SECOND;
  }
}
