import type { OperationId } from '../../../contract/operations.ts';

/** Maximum remembered keys, about 2 MB. Later keys replace the oldest. */
const MAX_KEYS = 10_000;

/** Remembers in this process which operations have succeeded with an idempotency key, for warnings in a sandbox. */
export class ReusedKeys {
  readonly #operations = new Map<string, Set<OperationId>>();

  /** Records that an operation succeeded with a key in a card program. Returns the other operations that did before. */
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
