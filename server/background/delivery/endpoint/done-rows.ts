/** More than can be stored while one statement is on its way. */
const MAX_ROWS = 2_000;

/**
 * Rows whose outcome was stored lately. A statement that was sent before may still find them as they were, and they must
 * not be sent once more.
 */
export class DoneRows {
  /** When each was due. */
  readonly #dueAt = new Map<string, number | null>();

  add(key: string, dueAt: number | null): void {
    if (this.#dueAt.size >= MAX_ROWS) this.#dueAt.clear();
    this.#dueAt.set(key, dueAt);
  }

  /** Whether a row is one of these, and not due for another attempt. */
  has(key: string, dueAt: number | null): boolean {
    return dueAt !== null && this.#dueAt.get(key) === dueAt;
  }
}
