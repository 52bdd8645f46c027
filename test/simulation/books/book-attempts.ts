import type { AttemptStatus } from '../../../domain/processors/attempt.ts';
import type { Ask } from '../ask.ts';

/** Attempts of which an operator may say what became of them, and those that have ended without moving money. */
const OPEN: readonly AttemptStatus[] = ['unknown', 'reversing', 'attention', 'pending'];
const FAILED: readonly AttemptStatus[] = ['declined', 'failed', 'reversed'];

/** What the serial books know of attempts at processors: their ids on the wire, their transfers and their statuses. */
export class BookAttempts {
  readonly #known = new Map<string, { readonly transfer: string; readonly status: AttemptStatus }>();

  note(attempt: string, transfer: string, status: AttemptStatus): void {
    this.#known.set(attempt, { transfer, status });
  }

  transferOf(attempt: string): string {
    return this.#known.get(attempt)?.transfer ?? '';
  }

  /** The code with which it would be refused to end an attempt. */
  refusalOf({ attempt, wasExecuted }: Extract<Ask, { does: 'resolve' }>): string | undefined {
    const { status } = this.#known.get(attempt) ?? {};
    if (status === undefined) return 'attempt_not_found';
    if (OPEN.includes(status)) return undefined;
    const isSame = wasExecuted ? status === 'approved' : FAILED.includes(status);
    return isSame ? 'unchanged' : 'invalid_attempt_status';
  }
}
