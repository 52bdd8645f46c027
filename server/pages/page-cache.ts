/**
 * Rendered pages, as bytes: rendering a long one takes longer than serving a hundred requests. Commands on a page contain
 * the base URL of the request, so only pages for the last base URL are stored: callers cannot fill the memory by
 * sending other Host headers.
 */
export class PageCache {
  readonly #pages = new Map<string, Buffer>();
  #base = '';

  /** The page with that name for that base URL, rendered by `render` if it is not stored. */
  get(name: string, base: string, render: () => string): Buffer {
    if (base !== this.#base) {
      this.#pages.clear();
      this.#base = base;
    }
    const stored = this.#pages.get(name);
    if (stored !== undefined) return stored;
    const rendered = Buffer.from(render());
    this.#pages.set(name, rendered);
    return rendered;
  }
}
