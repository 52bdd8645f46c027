import type { SendSpans } from './send-spans.ts';
import { type Span, toOtlp } from './span.ts';

/** Spans that wait at most; more are dropped. Five of a transfer, so that it is some seconds of the most that is sampled. */
const MAX_WAITING = 2_048;

/** Spans of one request to the collector. */
const MAX_SENT = 512;

/** How long a span waits for others. */
const GATHER_MILLISECONDS = 1_000;

/** The pause after a failure. */
const PAUSE_MILLISECONDS = 10_000;

/** Time for the last spans when the service stops. */
const STOP_MILLISECONDS = 1_000;

/** What the exporter works with. */
export type ExporterParts = {
  readonly send: SendSpans;
  readonly serviceName: string;
  readonly version: string;
  /** Called for the first of several failures in a row, with the number of spans lost since the last time it worked. */
  readonly onFailure: (error: unknown, lost: number) => void;
  readonly gatherMilliseconds?: number;
  readonly pauseMilliseconds?: number;
};

/** Sends spans to a collector, one request after the other. Those that it does not take are lost: nothing waits for it. */
export class Exporter {
  readonly #parts: ExporterParts;
  #waiting: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #isFailing = false;
  #isStopped = false;
  #lost = 0;

  constructor(parts: ExporterParts) {
    this.#parts = parts;
  }

  /** Adds a span. Never throws. */
  add(span: Span): void {
    if (this.#isStopped || this.#waiting.length >= MAX_WAITING) {
      this.#lost += 1;
      return;
    }
    this.#waiting.push(span);
    this.#schedule(this.#parts.gatherMilliseconds ?? GATHER_MILLISECONDS);
  }

  /** Sends what waits, if that takes no longer than a second, and stops. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#sending;
    if (!this.#isFailing && this.#waiting.length > 0) await this.#send(STOP_MILLISECONDS);
  }

  #schedule(milliseconds: number): void {
    if (this.#isStopped || this.#timer !== undefined || this.#sending !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#sending = this.#send().finally(() => {
        this.#sending = undefined;
        const { gatherMilliseconds = GATHER_MILLISECONDS, pauseMilliseconds = PAUSE_MILLISECONDS } = this.#parts;
        if (this.#waiting.length > 0) this.#schedule(this.#isFailing ? pauseMilliseconds : gatherMilliseconds);
      });
    }, milliseconds).unref();
  }

  async #send(timeoutMilliseconds?: number): Promise<void> {
    const { send, serviceName, version, onFailure } = this.#parts;
    const spans = this.#waiting.splice(0, MAX_SENT);
    try {
      await send(toOtlp(spans, serviceName, version), timeoutMilliseconds);
      this.#isFailing = false;
      this.#lost = 0;
    } catch (error) {
      this.#lost += spans.length;
      if (!this.#isFailing) onFailure(error, this.#lost);
      this.#isFailing = true;
    }
  }
}
