import { createHash } from 'node:crypto';

const WORDS_OF_DIGEST = 4;
const FREE = -1;

/**
 * A set of texts, numbered as they are added. A million texts need about 30 MB. The texts are not kept: as strings in a
 * Map they would need several times as much, and would keep the garbage collector busy.
 *
 * A text is recognized by the first 128 bits of its SHA-256. Two different texts count as the same one with a chance of about
 * n² / 2^129: below 10^-24 for ten million texts, the most that a move-in has. So the table never reports a wrong problem in practice.
 */
export class DigestTable {
  /** The digests, by their index. */
  #words = new Uint32Array(1024 * WORDS_OF_DIGEST);
  /** The index of a digest at each position, or FREE. The first word of a digest says where the search for it begins. */
  #positions = new Int32Array(2048).fill(FREE);
  #size = 0;

  /** Adds a text. Returns its index, from 0, and whether it is new. */
  add(text: string): { readonly index: number; readonly isNew: boolean } {
    const digest = digestOf(text);
    const position = this.#find(digest);
    const known = this.#positions[position] ?? FREE;
    if (known !== FREE) return { index: known, isNew: false };
    const index = this.#size;
    this.#words = withRoomFor(this.#words, (index + 1) * WORDS_OF_DIGEST - 1);
    this.#words.set(digest, index * WORDS_OF_DIGEST);
    this.#positions[position] = index;
    this.#size += 1;
    // Searches stay short while at most half of the positions are taken.
    if (this.#size * 2 > this.#positions.length) this.#spread();
    return { index, isNew: true };
  }

  /** Returns the index of a text, or undefined. */
  indexOf(text: string): number | undefined {
    const index = this.#positions[this.#find(digestOf(text))] ?? FREE;
    return index === FREE ? undefined : index;
  }

  /** Returns the position of a digest, or the free position where it belongs. */
  #find(digest: Uint32Array): number {
    const last = this.#positions.length - 1;
    for (let position = (digest[0] ?? 0) & last; ; position = (position + 1) & last) {
      const index = this.#positions[position] ?? FREE;
      if (index === FREE) return position;
      const start = index * WORDS_OF_DIGEST;
      if (digest.every((word, at) => this.#words[start + at] === word)) return position;
    }
  }

  /** Doubles the number of positions, a power of two. */
  #spread(): void {
    this.#positions = new Int32Array(this.#positions.length * 2).fill(FREE);
    for (let index = 0; index < this.#size; index += 1) {
      const start = index * WORDS_OF_DIGEST;
      this.#positions[this.#find(this.#words.subarray(start, start + WORDS_OF_DIGEST))] = index;
    }
  }
}

function digestOf(text: string): Uint32Array {
  const digest = createHash('sha256').update(text).digest();
  return Uint32Array.of(
    digest.readUInt32LE(0),
    digest.readUInt32LE(4),
    digest.readUInt32LE(8),
    digest.readUInt32LE(12),
  );
}

type Numbers = Uint8Array | Uint32Array | Float64Array;

/** Returns an array with room for an index: the same one, or a copy of twice its length. */
export function withRoomFor<Kind extends Numbers>(numbers: Kind, index: number): Kind {
  if (index < numbers.length) return numbers;
  const larger = new (numbers.constructor as new (length: number) => Kind)(Math.max(index + 1, numbers.length * 2));
  larger.set(numbers);
  return larger;
}
