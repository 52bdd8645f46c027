import type { RefusalCode } from './error-codes.ts';
import type { ReadinessReason } from './service-status.ts';

/** How much of a limit has been used, in minor units or transfers. */
type UsedOfLimit = { readonly used: bigint; readonly limit: bigint };

/**
 * A value that a check used. Amounts and counts are bigint. A caller's text is never a bigint, so the error log can distinguish
 * amounts from possible card numbers. A time is text in ISO 8601.
 */
export type SeenValue = string | number | boolean | null | bigint | UsedOfLimit;

/** The values that a check used, by name. */
export type Seen = Readonly<Record<string, SeenValue>>;

/** A value as explain_transfer and the error log show it. Amounts are strings, so that every reader reads them exactly. */
export function shownSeen(value: SeenValue): string | number | boolean | null {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'object' && value !== null) return `${value.used} of ${value.limit} used`;
  return value;
}

/** Whether a value consists only of numbers from the ledger. */
export function isOfLedger(value: SeenValue): value is bigint | UsedOfLimit {
  return typeof value === 'bigint' || (typeof value === 'object' && value !== null);
}

/** Whether a request moved money. `no` and `yes` are certain. */
export type MoneyMoved = 'no' | 'yes' | 'unknown';

/** The details of a refusal beyond its code and message. */
export type RefusalDetails = {
  /** JSON pointer to the invalid field of the request, for the `Error-Field` header. */
  readonly field?: string;
  /** Values that the checks used, for the error log and explain_transfer. Messages never show them automatically. */
  readonly saw?: Seen;
  /** Inner UUID of the refused API key, if it is known although the caller was not authenticated. */
  readonly keyId?: string;
  /** Set when this is a replay of the first response to an idempotency key. */
  readonly replayed?: boolean;
  /** The request that used the idempotency key first, as its wire id. */
  readonly originalRequestId?: string;
  /** Milliseconds until the reason for the refusal no longer applies, for the `Retry-After` header. */
  readonly endsIn?: number;
  /** The current version of the record, for the `ETag` header. */
  readonly version?: string;
  /** The state of the service that caused the refusal, and the runbook page about it. For the headers with these names. */
  readonly readiness?: { readonly reason: ReadinessReason; readonly runbook: string };
};

/**
 * A refusal is a decision, not a failure: the request changed nothing, the code is in the catalog, and the message (free text,
 * specification section 2.1) names the specific cause and how to fix it.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly details: RefusalDetails;

  constructor(code: RefusalCode, message: string, details: RefusalDetails = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}
