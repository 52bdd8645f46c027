/** What the bench has started or made, to be ended or removed in the opposite order, also after Ctrl-C. */
export class Resources {
  readonly #ends: { readonly name: string; readonly end: () => Promise<void> }[] = [];

  #isOver = false;

  /**
   * Remembers how to end something; gives a function that ends it now. Ending twice does nothing the second time.
   * Throws, and ends it at once, when all has been ended already: after Ctrl-C nothing new is begun.
   */
  add(name: string, end: () => Promise<void>): () => Promise<void> {
    if (this.#isOver) {
      void end().catch(() => undefined);
      throw new Error('the bench was ended');
    }
    const entry = { name, end };
    this.#ends.push(entry);
    return async () => {
      const place = this.#ends.indexOf(entry);
      if (place === -1) return;
      this.#ends.splice(place, 1);
      await end();
    };
  }

  /** Whether all was ended, as after Ctrl-C. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** How much there is, to be given to {@link endAll}: what was there before is then spared. */
  get count(): number {
    return this.#ends.length;
  }

  /** Ends everything but the first `spared`; what cannot be ended is said, and the rest still is. */
  async endAll(say: (line: string) => void, spared = 0): Promise<void> {
    this.#isOver ||= spared === 0;
    while (this.#ends.length > spared) {
      const entry = this.#ends.pop();
      if (entry === undefined) return;
      try {
        await entry.end();
      } catch (error) {
        say(`${entry.name} could not be ended: ${String(error)}`);
      }
    }
  }
}
