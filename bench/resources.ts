/** Everything that the bench started or made. It is stopped or removed in reverse order, even after Ctrl-C. */
export class Resources {
  readonly #ends: { readonly name: string; readonly end: () => Promise<void> }[] = [];

  #isOver = false;

  /**
   * Registers how to end something. Returns a function that ends it now. Ending twice has no further effect. After Ctrl-C nothing
   * new may start, so this then ends it immediately and throws.
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

  /** Whether everything was ended, as after Ctrl-C. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The number of resources. Pass it to {@link endAll} to keep the resources added so far. */
  get count(): number {
    return this.#ends.length;
  }

  /** Ends everything except the first `spared`. If something cannot be ended, reports it and continues. */
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
