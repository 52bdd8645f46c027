import type { ErrorCode, OperationId } from '../../contract/operations.ts';
import type { MoneyMoved } from '../../domain/refusal.ts';
import type { RequestTrace } from '../calls/trace.ts';

/** The outcome of one request. Contains no text of the caller except the ids of a trace. */
export type ResponseEntry = {
  /** Inner UUID of the request; `Request-Id` on the wire. */
  readonly requestId: string;
  /** Undefined when the bytes were not a request. */
  readonly method: string | undefined;
  /** The pattern of the route, never the path as it was sent; undefined if no route was found. */
  readonly path: string | undefined;
  readonly operation: OperationId | undefined;
  /** Undefined when the caller disconnected before a response was written. */
  readonly status: number | undefined;
  /**
   * The code of the request in the error log. Also set with a status below 400, for an export that was cut off or a
   * batch with refused rows.
   */
  readonly code: ErrorCode | undefined;
  /** Whether it is the error of a stray request, such as one for /robots.txt, or of one of the console's own: not counted as an error. */
  readonly isStray: boolean;
  /** From when the head was read until the whole response was written; 0 when the bytes were not a request. */
  readonly milliseconds: number;
  readonly programId: string | undefined;
  /** The id of the API key, never the key. */
  readonly keyId: string | undefined;
  /** Set on errors of operations that move money; for a successful batch only if a refused row may have moved money. */
  readonly moneyMoved: MoneyMoved | undefined;
  /** The caller's `traceparent` header, if it is valid. */
  readonly traceparent: string | undefined;
  /** Set if its spans are sent to a collector. */
  readonly trace?: RequestTrace | undefined;
};
