/** What the bench has started or made, to be stopped or removed in reverse order, also after Ctrl-C. */
export class Resources {
  readonly #ends: { readonly name: string; readonly end: () => Promise<void> }[] = [];

  #isOver = false;

  /**
   * Registers how to end something; returns a function that ends it now. Ending twice has no further effect. If everything
   * was ended already, it ends it immediately and throws: after Ctrl-C nothing new is started.
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

  /** The number of resources, to pass to {@link endAll}, which then keeps the earlier ones. */
  get count(): number {
    return this.#ends.length;
  }

  /** Ends everything but the first `spared`; reports what cannot be ended, and ends the rest. */
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
