import type { ErrorCode, OperationId } from '../../contract/operations.ts';
import type { MoneyMoved } from '../../domain/refusal.ts';
import type { RequestTrace } from '../calls/trace.ts';

/** What became of one request. Nothing in it is the caller's own text, except the ids of a trace. */
export type ResponseEntry = {
  /** Inner UUID of the request; `Request-Id` on the wire. */
  readonly requestId: string;
  /** Undefined when the bytes were not a request. */
  readonly method: string | undefined;
  /** The pattern of the route, never the path as it was sent; undefined where no route was found. */
  readonly path: string | undefined;
  readonly operation: OperationId | undefined;
  /** Undefined when the caller disconnected before a response was written. */
  readonly status: number | undefined;
  /**
   * The code under which the error log has the request. With a status below 400: an export that was cut off, or a batch
   * with refused rows.
   */
  readonly code: ErrorCode | undefined;
  /** Whether it is the response to a guess, such as /favicon.ico, which is no error that anyone has to look into. */
  readonly isStray: boolean;
  /** From the first byte of the head that was read to the end of the response as it was written; 0 without a request. */
  readonly milliseconds: number;
  readonly programId: string | undefined;
  /** The id of the API key, never the key. */
  readonly keyId: string | undefined;
  /** Set on errors of operations that move money; of a batch only where a row may have moved money, and it is not known. */
  readonly moneyMoved: MoneyMoved | undefined;
  /** The `traceparent` header, where a valid one was sent. */
  readonly traceparent: string | undefined;
  /** Set where its spans are sent to a collector. */
  readonly trace?: RequestTrace | undefined;
};
