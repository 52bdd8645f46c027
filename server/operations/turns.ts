/**
 * Lets so many pieces of work run at a time. The others wait, each in the queue of its card program, and the programs
 * take turns: one that asks for a thousand things at once makes nobody but itself wait for them.
 */
export class Turns {
  #free: number;
  /** Who waits, by program; the program that is next stands first. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Does a piece of work when it is the program's turn. */
  async take<Value>(programId: string, work: () => Promise<Value>): Promise<Value> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#queue(programId);
    try {
      return await work();
    } finally {
      this.#giveOn();
    }
  }

  #queue(programId: string): Promise<void> {
    return new Promise((begin) => {
      const queue = this.#waiting.get(programId);
      if (queue === undefined) this.#waiting.set(programId, [begin]);
      else queue.push(begin);
    });
  }

  #giveOn(): void {
    for (const [programId, queue] of this.#waiting) {
      const begin = queue.shift();
      // Behind all others; or gone, until it has something to do again.
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
 * How many of those that read much may read at the same moment: exports, and searches for what is rare. They read as
 * fast as they are let, and any number of them must leave connections to the database to whoever waits for an answer.
 */
const longReaders = new Turns(2);

/** Reads one portion for a card program that reads much, when it is its turn. */
export function readInTurn<Value>(programId: string, read: () => Promise<Value>): Promise<Value> {
  return longReaders.take(programId, read);
}
