import { NoConnection } from './failure.ts';

const WATCH_MILLISECONDS = 50;

type Waiter = { readonly until: number; readonly admit: () => void; readonly refuse: (error: NoConnection) => void };

/**
 * The requests that wait for a connection of a pool, in order of arrival.
 *
 * A wait fails as "too few connections" only after another connection of this process has received a response. Only that proves
 * that there are too few connections. If no connection receives a response, the database is silent, and the wait fails for that
 * reason.
 */
export class ConnectionQueue {
  #max: number;
  /** How often the database has sent a response, on any connection of this process. */
  readonly #responses: () => number;
  readonly #silentMilliseconds: number;
  #lent = 0;
  #waiting: Waiter[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(max: number, responses: () => number, silentMilliseconds: number) {
    this.#max = max;
    this.#responses = responses;
    this.#silentMilliseconds = silentMilliseconds;
  }

  /**
   * Resolves when a connection is free. Each call that resolves requires a {@link leave}. Rejects with {@link NoConnection}. Rejects
   * for the reason "too few connections" only after `until` (`performance.now()`).
   */
  enter(until: number): Promise<void> {
    if (this.#lent < this.#max) {
      this.#lent += 1;
      return Promise.resolve();
    }
    return new Promise((admit, refuse) => {
      this.#waiting.push({ until, admit, refuse });
      if (this.#timer === undefined) this.#watch();
    });
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get max(): number {
    return this.#max;
  }

  leave(): void {
    const next = this.#lent > this.#max ? undefined : this.#waiting.shift();
    if (next === undefined) this.#lent -= 1;
    else next.admit();
  }

  limit(max: number): void {
    this.#max = Math.min(this.#max, max);
  }

  #watch(): void {
    let seen = this.#responses();
    let checkedAt = performance.now();
    let silence = 0;
    this.#timer = setInterval(() => {
      const now = performance.now();
      const responses = this.#responses();
      // A frozen process has not read the responses that arrived, so a late check counts for at most two intervals.
      silence = responses === seen ? silence + Math.min(now - checkedAt, 2 * WATCH_MILLISECONDS) : 0;
      if (silence > this.#silentMilliseconds) this.#refuse(() => true, false);
      else if (responses !== seen) this.#refuse(({ until }) => now > until, true);
      seen = responses;
      checkedAt = now;
      if (this.#waiting.length > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    }, WATCH_MILLISECONDS);
  }

  #refuse(which: (waiter: Waiter) => boolean, crowded: boolean): void {
    const refused = this.#waiting.filter(which);
    if (refused.length === 0) return;
    this.#waiting = this.#waiting.filter((waiter) => !which(waiter));
    for (const { refuse } of refused) refuse(new NoConnection(crowded));
  }
}
