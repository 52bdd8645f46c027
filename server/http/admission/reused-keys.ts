import type { OperationId } from '../../../contract/operations.ts';

/** Keys that are remembered, about 2 MB. Later ones take the place of the oldest. */
const MAX_KEYS = 10_000;

/** Which operations have succeeded with an idempotency key, as far as this process remembers: to warn in a sandbox. */
export class ReusedKeys {
  readonly #operations = new Map<string, Set<OperationId>>();

  /** Notes that an operation has succeeded with a key in a card program. Returns the others that had before. */
  note(programId: string, key: string, operation: OperationId): readonly OperationId[] {
    const name = `${programId}\n${key}`;
    const known = this.#operations.get(name) ?? new Set();
    const others = [...known].filter((other) => other !== operation);
    this.#operations.set(name, known.add(operation));
    if (this.#operations.size > MAX_KEYS) {
      for (const oldest of this.#operations.keys()) {
        this.#operations.delete(oldest);
        break;
      }
    }
    return others;
  }
}
