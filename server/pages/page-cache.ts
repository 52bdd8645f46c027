import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const compress = promisify(gzip);

/** A page or data, ready to be sent: plain and compressed, with its entity tag in quotation marks. */
export type StoredBody = { readonly bytes: Buffer; readonly compressed: Buffer; readonly tag: string };

/** Compresses a text and gives it a tag. */
export async function storedBody(content: string | Buffer): Promise<StoredBody> {
  const bytes = Buffer.from(content);
  const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  return { bytes, compressed: await compress(bytes), tag };
}

/**
 * Rendered pages: rendering and compressing a long one takes longer than serving a hundred requests. Pages contain the base
 * URL of the request in their commands. Only pages for the last base URL are stored, so that callers cannot fill the memory
 * by sending other Host headers.
 */
export class PageCache {
  readonly #pages = new Map<string, Promise<StoredBody>>();
  #base = '';

  /** The page with that name for that base URL, rendered by `render` if it is not stored. */
  get(name: string, base: string, render: () => string | Buffer): Promise<StoredBody> {
    if (base !== this.#base) {
      this.#pages.clear();
      this.#base = base;
    }
    const stored = this.#pages.get(name);
    if (stored !== undefined) return stored;
    const rendered = storedBody(render());
    this.#pages.set(name, rendered);
    // A failed compression is not cached: the next request tries again.
    rendered.catch(() => this.#pages.delete(name));
    return rendered;
  }
}
