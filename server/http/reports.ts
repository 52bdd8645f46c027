import type { ErrorType } from '../../contract/errors/record.ts';
import type { ErrorCode, OperationId } from '../../contract/operations.ts';
import type { MoneyMoved, RefusalDetails } from '../../domain/refusal.ts';
import type { Caller } from '../calls/call.ts';
import type { RequestTrace } from '../calls/trace.ts';

/** The outcome of one request. It contains no text from the caller, except the ids of a trace. */
export type ResponseEntry = {
  /** Inner UUID of the request. It is `Request-Id` on the wire. */
  readonly requestId: string;
  /** Undefined if the received bytes were not a request. */
  readonly method: string | undefined;
  /** The pattern of the route, never the path that was sent. Undefined if no route was found. */
  readonly path: string | undefined;
  readonly operation: OperationId | undefined;
  /** Undefined if the caller disconnected before a response was written. */
  readonly status: number | undefined;
  /**
   * The code of the request in the error log. It may be set even if the status is below 400: for an export that was cut off, or for
   * a batch with refused rows.
   */
  readonly code: ErrorCode | undefined;
  /**
   * Whether the error is not counted: the request was stray, such as for /robots.txt, or the console sent it in the
   * background.
   */
  readonly isStray: boolean;
  /** The time from reading the head to writing the whole response. 0 if the received bytes were not a request. */
  readonly milliseconds: number;
  readonly programId: string | undefined;
  /** The id of the API key, never the key itself. */
  readonly keyId: string | undefined;
  /** Set for errors of operations that move money. For a successful batch, it is set only if a refused row may have moved money. */
  readonly moneyMoved: MoneyMoved | undefined;
  /** The caller's `traceparent` header, if it is valid. */
  readonly traceparent: string | undefined;
  /** Set if the spans of this request are sent to a collector. */
  readonly trace?: RequestTrace | undefined;
};

/** Everything known about an error response, for the error log. */
export type ErrorReport = {
  readonly requestId: string;
  /** When the request arrived, in milliseconds since 1970. */
  readonly at: number;
  readonly operation: OperationId | undefined;
  readonly code: ErrorCode;
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
  /** The caller's address, as counted by the rate limits. Undefined if the received bytes were not a request. */
  readonly address: string | undefined;
  readonly method: string | undefined;
  /** The pattern of the route. If there is none, the path without its query and with long numbers masked. */
  readonly path: string | undefined;
  readonly parameters: Readonly<Record<string, string>> | undefined;
  readonly programId: string | undefined;
  readonly caller: Caller['kind'] | undefined;
  /** Inner UUID of the caller's API key, or of the key of its session. Undefined if there is no key. */
  readonly keyId: string | undefined;
  /** Undefined if the operation moves no money. */
  readonly moneyMoved: MoneyMoved | undefined;
  /** Wire id of the transfer that may have been created, or that the path names. */
  readonly transferId: string | undefined;
  readonly saw: RefusalDetails['saw'];
  /** JSON pointer to the invalid field. */
  readonly field: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** The fields of the request, if they were read. */
  readonly fields: Readonly<Record<string, unknown>> | undefined;
  readonly traceparent: string | undefined;
  /** Whether the error is stray, as in {@link ResponseEntry}. Stray errors are not recorded in the error log. */
  readonly isStray: boolean;
  /** The thrown value, unless it was a refusal. */
  readonly cause: unknown;
};
