import type { OperationId } from '../../contract/operations.ts';
import type { ErrorType, MoneyMoved } from '../../domain/catalogue-entry.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { RefusalDetails } from '../../domain/refusal.ts';
import type { Caller } from '../operations/call.ts';

/** Everything that is known about an answer that was an error: what the error log keeps. */
export type ErrorReport = {
  /** Inner UUID of the request; `Request-Id` on the wire. */
  readonly requestId: string;
  /** When the request came, in milliseconds since 1970. */
  readonly at: number;
  readonly operation: OperationId | undefined;
  readonly code: ErrorCode;
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
  /** Where it came from, as the rate limits count it; undefined when the bytes were not a request. */
  readonly address: string | undefined;
  /** Undefined when the bytes were not a request. */
  readonly method: string | undefined;
  /** The pattern of the route, or else the path without its query and without long numbers. */
  readonly path: string | undefined;
  /** The parameters in the path of the operation. */
  readonly parameters: Readonly<Record<string, string>> | undefined;
  readonly programId: string | undefined;
  readonly caller: Caller['kind'] | undefined;
  /** Undefined when the operation moves no money. */
  readonly moneyMoved: MoneyMoved | undefined;
  /** Id on the wire of the transfer that may exist. */
  readonly transferId: string | undefined;
  /** The values that the checks saw. */
  readonly saw: RefusalDetails['saw'];
  /** JSON pointer to the member at fault. */
  readonly field: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** The members of the request, when they were read. */
  readonly members: Readonly<Record<string, unknown>> | undefined;
  /** What was thrown, when the error is not the caller's. */
  readonly cause: unknown;
};

/** One line for the log, written after each answer. */
export type AccessEntry = {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly code: ErrorCode | undefined;
  readonly durationMilliseconds: number;
};
