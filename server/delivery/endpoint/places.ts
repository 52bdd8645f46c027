/** The place of an event that is to be sent. */
export type Place = { readonly place: number; isDone: boolean };

/** Entries before the first open one that are kept until they are removed together. */
const MAX_PASSED = 1_000;

/**
 * How far a cursor has come over events that end in any order: every event up to `passed` was delivered, stored as failed,
 * or was not to be sent.
 */
export class Places {
  /** Up to where events were looked at. */
  readTo: number;
  #open: Place[] = [];
  /** The first of `#open` that is not done. */
  #first = 0;

  constructor(start: number) {
    this.readTo = start;
  }

  /** Adds the next event that is to be sent. */
  add(place: number): Place {
    const added = { place, isDone: false };
    this.readTo = place;
    this.#open.push(added);
    return added;
  }

  get passed(): number {
    while (this.#open[this.#first]?.isDone) this.#first += 1;
    if (this.#first === this.#open.length || this.#first > MAX_PASSED) {
      this.#open = this.#open.slice(this.#first);
      this.#first = 0;
    }
    const open = this.#open[this.#first];
    return open === undefined ? this.readTo : open.place - 1;
  }

  /** Goes on from a later place. What is open before it no longer counts. */
  skipTo(place: number): void {
    this.readTo = place;
    this.#open = [];
    this.#first = 0;
  }
}
