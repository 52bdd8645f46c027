import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import type { StoredBody } from './page-cache.ts';

const compress = promisify(brotliCompress);

/**
 * Maximum number of bodies that are compressed. Each takes a second of computing time, and callers can choose the Host, which
 * some bodies contain. A service usually has one or two URLs. For further ones, clients get the body with gzip.
 */
const MAX_BODIES = 8;

/** The window contains the whole body, so that repetitions far apart are found. */
const BEST = {
  [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
  [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
} as const;

/** Compresses bytes with the best quality of brotli, outside of the event loop. */
export const compressBest = (bytes: Buffer): Promise<Buffer> => compress(bytes, { params: BEST });

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
    if (this.#bodies >= MAX_BODIES) return undefined;
    this.#bodies += 1;
    const making = compressBest(stored.bytes);
    this.#made.set(stored, making);
    return making;
  }
}
