/**
 * Generates numbers that look random but are the same every time. Each path of numbers (such as seed, batch, request,
 * change) has its own stream. So part of a case can be left out without changing the rest.
 */
export class Random {
  #state: number;

  constructor(...path: readonly number[]) {
    // Mixes each step before adding the next one. Otherwise, neighboring paths would have similar streams.
    this.#state = path.reduce((state, step) => mix((state ^ Math.imul(step + 1, 0x9e3779b1)) >>> 0), 0x243f6a88);
  }

  /** Returns a whole number that is at least 0 and less than `bound`. */
  below(bound: number): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    return Math.floor((mix(this.#state) / 0x1_0000_0000) * bound);
  }

  chance(probability: number): boolean {
    return this.below(1_000_000) < probability * 1_000_000;
  }

  pick<Item>(items: readonly [Item, ...Item[]] | readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined && items.length === 0) throw new Error('there is nothing to pick from');
    return item as Item;
  }

  /** Returns digits. The first one is not zero. */
  digits(count: number): string {
    return Array.from({ length: count }, (_, at) => String(at === 0 ? 1 + this.below(9) : this.below(10))).join('');
  }

  /** Returns a number of 13 to 19 digits with a valid check digit, like a card number. */
  cardNumber(): string {
    const body = this.digits(12 + this.below(7));
    const sum = [...body].reverse().reduce((total, digit, at) => {
      const weighted = at % 2 === 0 ? Number(digit) * 2 : Number(digit);
      return total + (weighted > 9 ? weighted - 9 : weighted);
    }, 0);
    return `${body}${(10 - (sum % 10)) % 10}`;
  }
}

/**
 * The finalizer of MurmurHash3: changing any bit of the input changes each bit of the output with a probability of one
 * half.
 */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
