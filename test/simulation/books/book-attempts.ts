import { type AttemptStatus, hasFailed, isUnknown } from '../../../domain/processors/attempt.ts';
import type { Ask } from '../ask.ts';

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
    if (isUnknown(status) || status === 'pending') return undefined;
    const isSame = wasExecuted ? status === 'approved' : hasFailed(status);
    return isSame ? 'unchanged' : 'invalid_attempt_status';
  }
}
