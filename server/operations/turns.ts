/** Lets so many pieces of work run at a time; the others wait in the order in which they came. */
class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async take<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((begin) => this.#waiting.push(begin));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/**
 * How many of those that read much may read at the same moment: exports, and searches for what is rare. They read as
 * fast as they are let, and any number of them must leave connections to the database to whoever waits for an answer.
 */
const longReaders = new Turns(2);

/** Reads one portion for somebody who reads much, when it is their turn. */
export function readInTurn<Value>(read: () => Promise<Value>): Promise<Value> {
  return longReaders.take(read);
}
