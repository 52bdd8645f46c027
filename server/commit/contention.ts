/** How long after it was last found locked a name counts as held. */
const HELD_MILLISECONDS = 2000;

/** How many items may try for locks at the same time: each uses a connection. */
const TURNS = 3;

/** Stands among the needs of an item for what is known only when the item is loaded. */
export const ANY_NEED = '*';

type Turn = { readonly names: readonly string[]; readonly run: () => Promise<void> };

/**
 * Names that other transactions hold, such as a card whose account is locked by a frozen process. Items that need one stay
 * out of the groups and take turns here, one at a time for each name, so that all other items continue.
 */
export class Contention {
  readonly #heldUntil = new Map<string, number>();
  readonly #busy = new Set<string>();
  #queue: Turn[] = [];
  #running = 0;

  /** How many items wait for a turn. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Notes that another transaction holds a name. */
  begin(name: string): void {
    this.#heldUntil.set(name, performance.now() + HELD_MILLISECONDS);
  }

  /** Notes that names could be locked. */
  end(names: readonly string[]): void {
    for (const name of names) this.#heldUntil.delete(name);
  }

  /** Whether no name is known to be held, which is the usual case. */
  get isQuiet(): boolean {
    return this.#heldUntil.size === 0;
  }

  /** Whether any of the names is known to be held. */
  concerns(names: readonly string[]): boolean {
    const now = performance.now();
    if (names.includes(ANY_NEED)) return [...this.#heldUntil.values()].some((until) => until > now);
    return names.some((name) => {
      const until = this.#heldUntil.get(name);
      if (until !== undefined && until <= now) this.#heldUntil.delete(name);
      return until !== undefined && until > now;
    });
  }

  /**
   * Runs when a turn is free and no running item needs one of these names, as far as they are held; resolves when it has
   * run. Turns are given in the order of the calls.
   */
  takeTurn<Result>(needs: readonly string[], run: () => Promise<Result>): Promise<Result> {
    const names = needs.filter((name) => this.#heldUntil.has(name));
    return new Promise((resolve, reject) => {
      this.#queue.push({ names, run: () => run().then(resolve, reject) });
      this.#next();
    });
  }

  #next(): void {
    for (const turn of this.#queue) {
      if (this.#running >= TURNS) return;
      if (turn.names.some((name) => this.#busy.has(name))) continue;
      this.#queue = this.#queue.filter((other) => other !== turn);
      this.#running += 1;
      for (const name of turn.names) this.#busy.add(name);
      void turn.run().finally(() => {
        this.#running -= 1;
        for (const name of turn.names) this.#busy.delete(name);
        this.#next();
      });
    }
  }
}
