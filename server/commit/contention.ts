/** How long after the last sign of trouble a name is taken to be held still, in milliseconds. */
const REMEMBERED = 2000;

/** How many items may stand at a lock at once: each takes a connection while it waits. */
const TURNS = 3;

/** Stands among an item's needs for something that is known only when the item is loaded. */
export const ANY_NEED = '*';

type Turn = { readonly names: readonly string[]; readonly run: () => Promise<void>; readonly done: () => void };

/**
 * What somebody else holds: a card whose account is locked by a frozen process, a key that is being used elsewhere.
 * Items that need it stay out of the groups and take turns here, one at a time for each name, so that the rest goes on.
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

  /** Notes that a name is held by somebody else. */
  begin(name: string): void {
    this.#heldUntil.set(name, performance.now() + REMEMBERED);
  }

  /** Notes that names were to be had. */
  end(names: readonly string[]): void {
    for (const name of names) this.#heldUntil.delete(name);
  }

  /** Whether nothing is known to be held, as nearly always. */
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
   * Runs when a turn is free and no other item runs that needs one of these names, as far as they are held; resolves
   * when it has run. Turns are given in the order in which they were asked for.
   */
  takeTurn(needs: readonly string[], run: () => Promise<void>): Promise<void> {
    const names = needs.filter((name) => this.#heldUntil.has(name));
    return new Promise((resolve) => {
      this.#queue.push({ names, run, done: resolve });
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
        turn.done();
        this.#next();
      });
    }
  }
}
