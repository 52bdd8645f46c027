import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, type ZlibOptions } from 'node:zlib';

const compress = promisify(gzip);

/** A page or data that is ready to send: plain and compressed with gzip, with its entity tag in quotation marks. */
export type StoredBody = {
  readonly bytes: Buffer;
  readonly compressed: Buffer;
  readonly tag: string;
  /** Compresses the bytes with brotli when it is first called. Returns undefined if they are only sent with gzip. */
  readonly brotli?: () => Promise<Buffer | undefined>;
};

/**
 * Compresses a string and gives it a tag. The default is the usual compression, because the best one takes more than twice as
 * long.
 */
export async function storedBody(content: string | Buffer, options: ZlibOptions = {}): Promise<StoredBody> {
  const bytes = Buffer.from(content);
  const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  return { bytes, compressed: await compress(bytes, options), tag };
}

/** Maximum size of all stored pages that contain a base URL. All pages for one base URL take less than 35 MB. */
const MAX_BYTES = 40 * 1024 * 1024;

export type CachedPage = {
  readonly body: Promise<StoredBody>;
  /** Whether the page was rendered for this request, with the URL of the request's Host. Callers can choose that URL. */
  readonly isRendered: boolean;
};

type Entry = { readonly body: Promise<StoredBody>; bytes: number };

/**
 * Stores rendered pages, because rendering and compressing a long page takes longer than serving a hundred requests. Many pages
 * contain the base URL of the request in their commands. Of these, only the most recently requested are stored, so that callers
 * cannot fill the memory by sending different Host headers. All other pages are rendered once.
 */
export class PageCache {
  readonly #maxBytes: number;
  readonly #plain = new Map<string, Promise<StoredBody>>();
  /** Pages with a base URL, by base URL and name, in the order of their last request. */
  readonly #ofBase = new Map<string, Entry>();
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the page with that name. It is the same for all base URLs. If it is not stored, `render` renders it. */
  plain(name: string, render: () => string | Buffer): CachedPage {
    let body = this.#plain.get(name);
    if (body === undefined) {
      body = storedBody(render());
      this.#plain.set(name, body);
      // A failed compression is not cached, so the next request tries again.
      body.catch(() => this.#plain.delete(name));
    }
    return { body, isRendered: false };
  }

  /** Returns the page with that name for that base URL. If it is not stored, `render` renders it. */
  ofBase(name: string, base: string, render: () => string | Buffer): CachedPage {
    const key = `${base} ${name}`;
    const stored = this.#ofBase.get(key);
    if (stored !== undefined) {
      this.#ofBase.delete(key);
      this.#ofBase.set(key, stored);
      return { body: stored.body, isRendered: false };
    }
    const entry: Entry = { body: storedBody(render()), bytes: 0 };
    this.#ofBase.set(key, entry);
    entry.body.then(
      ({ bytes, compressed }) => this.#weigh(key, entry, bytes.length + compressed.length),
      () => this.#remove(key, entry),
    );
    return { body: entry.body, isRendered: true };
  }

  /** Counts the bytes of an entry. If all entries together have too many, removes the least recently requested entries. */
  #weigh(key: string, entry: Entry, bytes: number): void {
    if (this.#ofBase.get(key) !== entry) return;
    entry.bytes = bytes;
    this.#bytes += bytes;
    for (const [oldKey, old] of this.#ofBase) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#remove(oldKey, old);
    }
  }

  #remove(key: string, entry: Entry): void {
    if (this.#ofBase.get(key) !== entry) return;
    this.#ofBase.delete(key);
    this.#bytes -= entry.bytes;
  }
}

const toBrotli = promisify(brotliCompress);

/**
 * Maximum number of bodies with the best compression. Each takes a second of computing time, and callers can choose the Host, which
 * some bodies contain. A service usually has one or two URLs. For further ones, clients get the body with gzip.
 */
const MAX_BEST_BODIES = 8;

/** The window contains the whole body, so that repetitions far apart are found. */
const BEST = {
  [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
  [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
} as const;

/** Compresses bytes with the best quality of brotli, outside of the event loop. */
export const compressBest = (bytes: Buffer): Promise<Buffer> => toBrotli(bytes, { params: BEST });

/**
 * Compresses long bodies with the best quality of brotli. A body is compressed for the first client that accepts brotli, outside of
 * the event loop, and only once.
 */
export class BestCompression {
  readonly #made = new WeakMap<StoredBody, Promise<Buffer>>();
  #bodies = 0;

  /** Returns the body with its compression by brotli. */
  async of(body: Promise<StoredBody>): Promise<StoredBody> {
    const stored = await body;
    return { ...stored, brotli: () => this.#compressed(stored) };
  }

  async #compressed(stored: StoredBody): Promise<Buffer | undefined> {
    const made = this.#made.get(stored);
    if (made !== undefined) return made;
    if (this.#bodies >= MAX_BEST_BODIES) return undefined;
    this.#bodies += 1;
    const making = compressBest(stored.bytes);
    this.#made.set(stored, making);
    return making;
  }
}
