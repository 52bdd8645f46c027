/** How often progress is printed, in milliseconds: often enough to see that it moves, and a page for a long import. */
const INTERVAL_MILLISECONDS = 2000;

/** Prints the progress of long work: how much is done, how fast, and how long the rest takes. */
export class Progress {
  readonly #total: number;
  readonly #done: string;
  readonly #say: (text: string) => void;
  readonly #begin = performance.now();
  readonly #first: number;
  #next = performance.now() + INTERVAL_MILLISECONDS;

  /** `done` completes the sentence "5 of 10 lines are …". `first` lines were done before. */
  constructor(total: number, done: string, say: (text: string) => void, first = 0) {
    this.#total = total;
    this.#done = done;
    this.#say = say;
    this.#first = first;
  }

  /** Prints a line if the last one is long enough ago. */
  report(done: number): void {
    const now = performance.now();
    if (now < this.#next) return;
    this.#next = now + INTERVAL_MILLISECONDS;
    const rate = (done - this.#first) / ((now - this.#begin) / 1000);
    const counted = `${grouped(done)} of ${grouped(this.#total)} lines are ${this.#done}`;
    if (rate < 1) this.#say(`${counted}.\n`);
    else this.#say(`${counted}, ${grouped(rate)} a second, ${remaining((this.#total - done) / rate)} to go.\n`);
  }
}

/** A whole number with commas: `1,000,000`. */
export function grouped(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

function remaining(seconds: number): string {
  const rounded = Math.ceil(seconds);
  return rounded < 120 ? `about ${rounded} s` : `about ${Math.ceil(rounded / 60)} min`;
}
