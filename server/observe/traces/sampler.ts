/** Requests that their callers want to have traced, per second at most: a caller must not choose what tracing costs. */
const MAX_WANTED_PER_SECOND = 10;

/** Hex digits of a trace id that are compared with the ratio, as other samplers do, so that they choose the same traces. */
const COMPARED_DIGITS = 13;

/** The flag that says that the caller records the trace. */
const SAMPLED = 1;

/** Decides which requests are traced, before anything else is done about it. */
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
