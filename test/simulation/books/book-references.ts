import type { BookTransfer } from './book-transfer.ts';

/** A request with a reference, or without one. */
type Named = { readonly program: number; readonly reference: string | null };

/** Who has which reference. Transfers and movements of funds have references of their own. */
export class BookReferences {
  readonly #transfers: ReadonlyMap<string, BookTransfer>;
  readonly #movements = new Set<string>();

  constructor(transfers: ReadonlyMap<string, BookTransfer>) {
    this.#transfers = transfers;
  }

  addMovement({ program, reference }: Named): void {
    if (reference !== null) this.#movements.add(`${program} ${reference}`);
  }

  /** Whether a deposit or a withdrawal has the reference of another. */
  isOfMovement({ program, reference }: Named): boolean {
    return this.#movements.has(`${program} ${reference}`);
  }

  /** Whether a transfer that holds, has moved or may still move money has the reference of a new one. */
  isTaken(asked: Named, at: number): boolean {
    return this.#namesakes(asked).some(({ status, expiresAt }) => {
      if (status === 'pending') return expiresAt === null || expiresAt > at;
      return status === 'scheduled' || status === 'completed';
    });
  }

  /** Whether a processor may have said that it has moved the money of a failed transfer with this reference after all. */
  isInDoubt(asked: Named): boolean {
    return this.#namesakes(asked).some(({ status, isElsewhere }) => status === 'failed' && isElsewhere);
  }

  #namesakes({ program, reference }: Named): readonly BookTransfer[] {
    if (reference === null) return [];
    return [...this.#transfers.values()].filter((one) => one.program === program && one.reference === reference);
  }
}
