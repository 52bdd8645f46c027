import type { Ask } from '../ask.ts';

/** A program, without its accounts and its limits. */
type BookProgram = { name: string; threshold: bigint | null };

/** That the funding of a program has become low. */
export type LowFunding = { readonly program: number; readonly available: bigint; readonly threshold: bigint };

/** The card programs of the serial books: their names, and when their funding is low. */
export class BookPrograms {
  /** By index. */
  readonly all: BookProgram[] = [];
  /** Programs whose funding became low since this was last read. */
  readonly low: LowFunding[] = [];
  readonly #availableOf: (program: number) => bigint;

  /** `availableOf` returns the funds of a program. */
  constructor(availableOf: (program: number) => bigint) {
    this.#availableOf = availableOf;
  }

  /** Whether a program already is as asked, apart from limits. */
  isAsAsked({ program, member, value }: Extract<Ask, { does: 'update_program' }>): boolean {
    const { name, threshold } = this.#of(program);
    return member === 'name' ? name === `Program ${value}` : threshold === value;
  }

  /** Changes a program, apart from its limits. */
  change({ program, member, value }: Extract<Ask, { does: 'update_program' }>): void {
    const book = this.#of(program);
    if (member === 'name') book.name = `Program ${value}`;
    else book.threshold = value;
  }

  /** Makes a change of accounts or programs, and notes whose funding it has made low. */
  watch<Result>(change: () => Result): Result {
    const before = this.all.map((_, program) => this.#isLow(program));
    const result = change();
    for (const [program, wasLow] of before.entries()) {
      if (wasLow || !this.#isLow(program)) continue;
      this.low.push({ program, available: this.#availableOf(program), threshold: this.#of(program).threshold ?? 0n });
    }
    return result;
  }

  #isLow(program: number): boolean {
    const { threshold } = this.#of(program);
    return threshold !== null && this.#availableOf(program) < threshold;
  }

  #of(index: number): BookProgram {
    const program = this.all[index];
    if (program === undefined) throw new Error(`the books have no program ${index}`);
    return program;
  }
}
