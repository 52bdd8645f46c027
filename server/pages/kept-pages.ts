/**
 * Pages as bytes, once somebody has asked for them: to make the large ones takes longer than to serve a hundred requests.
 * The commands on a page name the address that the service was called by, so only the pages of one such name are kept:
 * a caller who invents names cannot fill the memory.
 */
export class KeptPages {
  readonly #pages = new Map<string, Buffer>();
  #base = '';

  /** The page of that name for those who call the service by `base`; made by `make` where it is not kept. */
  get(name: string, base: string, make: () => string): Buffer {
    if (base !== this.#base) {
      this.#pages.clear();
      this.#base = base;
    }
    const kept = this.#pages.get(name);
    if (kept !== undefined) return kept;
    const made = Buffer.from(make());
    this.#pages.set(name, made);
    return made;
  }
}
