import type { RefusalCode } from './error-codes.ts';
import { Refusal } from './refusal.ts';

/** The stored first response to a key: a success, or a refusal that is stored. */
export type StoredResponse = {
  /** SHA-256 of the request, in hex. */
  readonly fingerprint: string;
  readonly status: number;
  /** Inner UUID of what the request created; null for a refusal. */
  readonly subjectId: string | null;
  /** The body of a success, exactly as it was sent; null for a refusal, and once it is no longer stored (30 days or later). */
  readonly body: string | null;
  readonly code: RefusalCode | null;
  readonly message: string | null;
  readonly field: string | null;
};

/**
 * What a key that was used before means for this request: the first response for the same request, a
 * refusal (`idempotency_key_exists`) when it is another.
 */
export function replay(stored: StoredResponse, fingerprint: string): StoredResponse | Refusal {
  if (stored.fingerprint === fingerprint) return stored;
  const message =
    'This Idempotency-Key was already used with a different request. ' +
    'Use a new key for a new request, or repeat the first request exactly.';
  return new Refusal('idempotency_key_exists', message);
}
