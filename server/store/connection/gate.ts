import { NoConnection } from './failure.ts';

/**
 * A database that has responded to nothing for so long, in milliseconds, is silent: the server itself ends a statement
 * after `LIMITS.statement` (1.5 s), and a failure must be reported within two seconds.
 */
const SILENCE = 1600;

/** Between two looks at those who wait, in milliseconds. */
const TICK = 50;

type Waiter = { readonly until: number; readonly admit: () => void; readonly refuse: (error: NoConnection) => void };

/**
 * Lets a number of holders in at a time; the others wait in order.
 *
 * A wait is not refused for want of connections before another connection of this process has got a response: only then is it
 * certain that connections are what is missing. When no connection gets a response at all the database is silent, and the
 * wait ends with that.
 */
export class Gate {
  readonly #max: number;
  /** Counts what the database has sent so far, on any connection of this process. */
  readonly #responses: () => number;
  #inside = 0;
  #waiting: Waiter[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(max: number, responses: () => number) {
    this.#max = max;
    this.#responses = responses;
  }

  /**
   * Resolves when there is room; every call that resolves needs a {@link leave}. Rejects with {@link NoConnection}, for
   * want of connections not before `until` (`performance.now()`).
   */
  enter(until: number): Promise<void> {
    if (this.#inside < this.#max) {
      this.#inside += 1;
      return Promise.resolve();
    }
    return new Promise((admit, refuse) => {
      this.#waiting.push({ until, admit, refuse });
      if (this.#timer === undefined) this.#watch();
    });
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inside -= 1;
    else next.admit();
  }

  #watch(): void {
    let seen = this.#responses();
    let looked = performance.now();
    let silence = 0;
    this.#timer = setInterval(() => {
      const now = performance.now();
      const responses = this.#responses();
      // A process that was stopped for a while has not read what arrived meanwhile, so a late look counts as one look.
      silence = responses === seen ? silence + Math.min(now - looked, 2 * TICK) : 0;
      if (silence > SILENCE) this.#refuse(() => true, false);
      else if (responses !== seen) this.#refuse(({ until }) => now > until, true);
      seen = responses;
      looked = now;
      if (this.#waiting.length > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    }, TICK);
  }

  #refuse(which: (waiter: Waiter) => boolean, crowded: boolean): void {
    const refused = this.#waiting.filter(which);
    if (refused.length === 0) return;
    this.#waiting = this.#waiting.filter((waiter) => !which(waiter));
    for (const { refuse } of refused) refuse(new NoConnection(crowded));
  }
}
