import type { RefusalCode } from './error-codes.ts';
import { toWireId } from './identifier.ts';
import { Refusal } from './refusal.ts';

/** Identifies requests with the same meaning, as SHA-256 in hex. */
export type Fingerprint = {
  /** Hash of the request as sent. Version 0.1.0, which may run next to this version, compares only this one. */
  readonly asSent: string;
  /** Hash of the request without the parts that do not affect its meaning. */
  readonly ofMeaning: string;
};

/** The stored first response to a key: a success, or a refusal of a kind that is stored. */
export type StoredResponse = {
  /** SHA-256 of the request as sent, in hex. */
  readonly fingerprint: string;
  /** SHA-256 of its meaning, in hex, or null if that is the same. */
  readonly meaning: string | null;
  /** Inner UUID of the request, or null if an earlier version stored the response. */
  readonly requestId: string | null;
  readonly status: number;
  /** Inner UUID of the record that the request created, or null for a refusal. */
  readonly subjectId: string | null;
  /** The body of a success, exactly as sent. Null for a refusal, and after the body was deleted (30 days or later). */
  readonly body: string | null;
  readonly code: RefusalCode | null;
  readonly message: string | null;
  readonly field: string | null;
};

/** Whether a request with this fingerprint repeats the first request with the key. */
export function isSame(
  { fingerprint, meaning }: Pick<StoredResponse, 'fingerprint' | 'meaning'>,
  { asSent, ofMeaning }: Fingerprint,
): boolean {
  return fingerprint === asSent || (meaning ?? fingerprint) === ofMeaning;
}

/**
 * Decides what a reused key means for this request: the first response if the request is the same, otherwise a refusal
 * (`idempotency_key_exists`).
 */
export function replay(stored: StoredResponse, fingerprint: Fingerprint): StoredResponse | Refusal {
  // A move-in has stored this key of the old ledger. Its request is not known here.
  if (stored.code === 'idempotency_key_exists') {
    return new Refusal(stored.code, stored.message ?? '', originalDetails(originalOf(stored)));
  }
  if (isSame(stored, fingerprint)) return stored;
  const original = originalOf(stored);
  const which = original === undefined ? '' : `, ${original}`;
  const message =
    `This Idempotency-Key was already used with a different request${which}. ` +
    'Use a new key for a new request, or repeat the first request.';
  return new Refusal('idempotency_key_exists', message, originalDetails(original));
}

/** Id on the wire of the request that used the key first, or undefined if an earlier version stored the response. */
export function originalOf({ requestId }: Pick<StoredResponse, 'requestId'>): string | undefined {
  return requestId === null ? undefined : toWireId('req', requestId);
}

/** The part of a refusal that names the request that used its key first, for the caller and for the error log. */
export function originalDetails(original: string | undefined): Pick<Refusal['details'], 'originalRequestId' | 'saw'> {
  return original === undefined ? {} : { originalRequestId: original, saw: { original_request_id: original } };
}
