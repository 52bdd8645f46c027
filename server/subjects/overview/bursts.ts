import { ERRORS } from '../../../contract/errors/catalogue.ts';
import type { Overview } from '../../../contract/service/overview.ts';
import { isBurst } from '../../../domain/support/incident.ts';
import type { ResponseCounter } from '../../calls/responses/response-counter.ts';

type Totals = ReadonlyMap<string, number>;

const SECONDS = 60;
const MINUTES = 60;
const NONE: Totals = new Map();

/**
 * Finds codes of Server and Process Errors that suddenly occur often in the responses of this process. Keeps the totals of
 * the last minute by second, and of the hour before by minute.
 */
export class Bursts {
  readonly #counter: ResponseCounter;
  readonly #seconds: Totals[] = [];
  readonly #minutes: Totals[] = [];
  #ticks = 0;

  constructor(counter: ResponseCounter) {
    this.#counter = counter;
  }

  /** Ends a second. Called once a second. */
  tick(): void {
    this.#seconds.push(this.#totals());
    if (this.#seconds.length <= SECONDS) return;
    const past = this.#seconds.shift() ?? NONE;
    if (this.#ticks++ % SECONDS !== 0) return;
    this.#minutes.push(past);
    if (this.#minutes.length > MINUTES + 1) this.#minutes.shift();
  }

  /** Returns the codes, most frequent first. */
  find(): Overview['proposed_incidents'] {
    const minuteAgo = this.#seconds.length < SECONDS ? NONE : (this.#seconds[0] ?? NONE);
    const hourAgo = this.#minutes.length <= MINUTES ? NONE : (this.#minutes[0] ?? NONE);
    return [...this.#totals()]
      .map(([code, total]) => {
        const before = minuteAgo.get(code) ?? 0;
        return { code, in_last_minute: total - before, in_hour_before: before - (hourAgo.get(code) ?? 0) };
      })
      .filter(({ in_last_minute, in_hour_before }) => isBurst(in_last_minute, in_hour_before))
      .sort((one, other) => other.in_last_minute - one.in_last_minute);
  }

  #totals(): Totals {
    const totals = new Map<string, number>();
    for (const { code, count, kind } of this.#counter.series) {
      if (code === undefined || count === 0 || kind === 'stray' || ERRORS[code].type === 'Request Error') continue;
      totals.set(code, count + (totals.get(code) ?? 0));
    }
    return totals;
  }
}
