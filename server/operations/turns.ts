/**
 * Limits how much work runs at the same time. The rest waits in one queue for each card program, and the programs take
 * turns, so that a program with a thousand requests delays only its own.
 */
export class Turns {
  #free: number;
  /** Waiting work by program, the next program first. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Runs work when it is the program's turn. */
  async take<Value>(programId: string, work: () => Promise<Value>): Promise<Value> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#queue(programId);
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  #queue(programId: string): Promise<void> {
    return new Promise((begin) => {
      const queue = this.#waiting.get(programId);
      if (queue === undefined) this.#waiting.set(programId, [begin]);
      else queue.push(begin);
    });
  }

  #release(): void {
    for (const [programId, queue] of this.#waiting) {
      const begin = queue.shift();
      // Moves the program behind all others, or removes it until it has work again.
      this.#waiting.delete(programId);
      if (queue.length > 0) this.#waiting.set(programId, queue);
      if (begin === undefined) continue;
      begin();
      return;
    }
    this.#free += 1;
  }
}

/**
 * How many long reads, that is exports and searches for rare rows, may run at the same time. They must leave database
 * connections to other requests.
 */
const longReaders = new Turns(2);

/** Runs one statement of a long read, when it is the card program's turn. */
export function readInTurn<Value>(programId: string, read: () => Promise<Value>): Promise<Value> {
  return longReaders.take(programId, read);
}
