/** Eight buckets for each doubling of the latency, so that results are accurate to five percent. */
const BUCKETS_PER_DOUBLING = 8;

/** The middle of the first bucket. Shorter latencies are not distinguished. */
const SHORTEST_MILLISECONDS = 0.05;

/** The last bucket is at half a minute, longer than any request of an operation takes. */
const BUCKETS = 160;

/** A histogram of latencies. Its buckets become wider as the latency grows. */
export class Latencies {
  readonly #counts = new Uint32Array(BUCKETS);
  #count = 0;

  note(milliseconds: number): void {
    const doublings = Math.log2(Math.max(milliseconds, SHORTEST_MILLISECONDS) / SHORTEST_MILLISECONDS);
    const bucket = Math.min(Math.round(doublings * BUCKETS_PER_DOUBLING), BUCKETS - 1);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count += 1;
  }

  add(other: Latencies): void {
    if (other.#count === 0) return;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + (other.#counts[bucket] ?? 0);
    }
    this.#count += other.#count;
  }

  /** Sets this histogram to the increase from `known` to `total`, and then sets `known` to `total`. */
  takeIncrease(total: Latencies, known: Latencies): void {
    this.#count = total.#count - known.#count;
    if (this.#count === 0) return;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      // The difference is correct even if a count of the total has overflowed its 32 bits.
      this.#counts[bucket] = (total.#counts[bucket] ?? 0) - (known.#counts[bucket] ?? 0);
    }
    known.#counts.set(total.#counts);
    known.#count = total.#count;
  }

  /** Returns the buckets that are not empty, with their counts, for another process to add. */
  counts(): [bucket: number, count: number][] {
    const found: [number, number][] = [];
    for (const [bucket, count] of this.#counts.entries()) if (count > 0) found.push([bucket, count]);
    return found;
  }

  addCounts(counts: readonly (readonly [bucket: number, count: number])[]): void {
    for (const [bucket, count] of counts) {
      const place = Math.min(Math.max(bucket, 0), BUCKETS - 1);
      this.#counts[place] = (this.#counts[place] ?? 0) + count;
      this.#count += count;
    }
  }

  clear(): void {
    if (this.#count === 0) return;
    this.#counts.fill(0);
    this.#count = 0;
  }

  /** Returns the latency in milliseconds that this share of the requests did not exceed. Null if there were no requests. */
  quantile(share: number): number | null {
    if (this.#count === 0) return null;
    let left = Math.ceil(this.#count * share);
    let bucket = 0;
    for (; bucket < BUCKETS - 1; bucket += 1) {
      left -= this.#counts[bucket] ?? 0;
      if (left <= 0) break;
    }
    const milliseconds = SHORTEST_MILLISECONDS * 2 ** (bucket / BUCKETS_PER_DOUBLING);
    return Number(milliseconds.toPrecision(2));
  }
}
