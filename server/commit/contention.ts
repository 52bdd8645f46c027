/** How long a name counts as held after it was last found locked, in milliseconds. */
const HELD_MILLISECONDS = 2000;

/** How many items may try for locks at the same time. Each uses a connection. */
const TURNS = 3;

/** Stands for any name. It is the need of an item whose names are unknown until it is loaded. */
export const ANY_NEED = '*';

type Turn = {
  readonly names: readonly string[];
  readonly run: () => Promise<void>;
  /** The number of the item's names that earlier items use or wait for. */
  behind: number;
};

/**
 * Names that other transactions hold, such as a card whose account a frozen process has locked. Items that need such a name stay
 * out of the groups. They take turns here, one at a time per name, so that all other items can continue.
 *
 * Most names are idempotency keys and references, which are never requested again. So names are forgotten after some time, a whole
 * generation at once. Many names or items do not slow this down.
 */
export class Contention {
  /** The names that were found held in the current generation, and in the previous one. */
  #recent = new Map<string, number>();
  #older = new Map<string, number>();
  #changedAt = 0;
  /** Until when the most recently found name counts as held. */
  #lastUntil = 0;
  /**
   * The items that need a name, in the order of their calls. The first of them runs, is ready to run, or waits for a different
   * name.
   */
  readonly #lines = new Map<string, Turn[]>();
  readonly #ready: Turn[] = [];
  #waiting = 0;
  #running = 0;

  get waiting(): number {
    return this.#waiting;
  }

  /** Notes that another transaction holds a name. */
  begin(name: string): void {
    const now = performance.now();
    this.#forget(now);
    this.#older.delete(name);
    this.#lastUntil = now + HELD_MILLISECONDS;
    this.#recent.set(name, this.#lastUntil);
  }

  /** Notes that an item has locked these names, so no other transaction holds them any more. */
  end(names: readonly string[]): void {
    for (const name of names) {
      this.#recent.delete(name);
      this.#older.delete(name);
    }
  }

  /** Whether no name is known to be held. That is the usual case. */
  get isQuiet(): boolean {
    if (this.#isEmpty) return true;
    this.#forget(performance.now());
    return this.#isEmpty;
  }

  /**
   * Returns whether any of the names is known to be held. With {@link ANY_NEED}, a name that was held shortly before also counts.
   */
  concerns(names: readonly string[]): boolean {
    const now = performance.now();
    this.#forget(now);
    if (names.includes(ANY_NEED)) return !this.#isEmpty && this.#lastUntil > now;
    return names.some((name) => this.#isHeld(name, now));
  }

  /** Runs the work when a turn is free, and when no earlier item that needs one of these names runs or waits. */
  takeTurn<Result>(needs: readonly string[], run: () => Promise<Result>): Promise<Result> {
    const now = performance.now();
    const names = [...new Set(needs)].filter((name) => this.#isHeld(name, now));
    return new Promise((resolve, reject) => {
      const turn: Turn = { names, run: () => run().then(resolve, reject), behind: 0 };
      for (const name of names) {
        const line = this.#lines.get(name);
        if (line === undefined) this.#lines.set(name, [turn]);
        else {
          line.push(turn);
          turn.behind += 1;
        }
      }
      this.#waiting += 1;
      if (turn.behind === 0) this.#ready.push(turn);
      this.#next();
    });
  }

  #next(): void {
    while (this.#running < TURNS) {
      const turn = this.#ready.shift();
      if (turn === undefined) return;
      this.#waiting -= 1;
      this.#running += 1;
      void turn.run().finally(() => {
        this.#running -= 1;
        for (const name of turn.names) this.#leave(name);
        this.#next();
      });
    }
  }

  #leave(name: string): void {
    const line = this.#lines.get(name);
    line?.shift();
    const [first] = line ?? [];
    if (first === undefined) {
      this.#lines.delete(name);
      return;
    }
    first.behind -= 1;
    if (first.behind === 0) this.#ready.push(first);
  }

  get #isEmpty(): boolean {
    return this.#recent.size + this.#older.size === 0;
  }

  #isHeld(name: string, now: number): boolean {
    const until = this.#recent.get(name) ?? this.#older.get(name);
    return until !== undefined && until > now;
  }

  /**
   * A generation lasts as long as a name counts as held. So at the end of the next generation, all names of this one have expired.
   */
  #forget(now: number): void {
    const age = now - this.#changedAt;
    if (age < HELD_MILLISECONDS) return;
    this.#older = age < 2 * HELD_MILLISECONDS ? this.#recent : new Map();
    this.#recent = new Map();
    this.#changedAt = now;
  }
}
