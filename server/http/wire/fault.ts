import type { ErrorDefinition } from '../../../contract/error.ts';
import { ERRORS, isErrorCode } from '../../../contract/errors/catalogue.ts';
import {
  type ErrorCode,
  movesMoney,
  OPERATIONS,
  type OperationId,
  saysIfMoneyMoved,
} from '../../../contract/operations.ts';
import { type MoneyMoved, Refusal, type RefusalDetails } from '../../../domain/refusal.ts';
import { OperationFailure } from '../../calls/call.ts';
import { howToFindOut } from '../../calls/how-to-find-out.ts';
import type { RequestContext } from '../request-context.ts';

/** Anything that was thrown, as the error response to send. */
export type Fault = {
  readonly code: ErrorCode;
  readonly entry: ErrorDefinition;
  /** Whole sentences for the caller; the one that refers to support is added later. */
  readonly message: string;
  readonly details: RefusalDetails;
  /** Undefined if the operation neither moves money nor is a dry run of one that does. */
  readonly moneyMoved: MoneyMoved | undefined;
  readonly transferId: string | undefined;
  /** What was thrown; null if it was a refusal. */
  readonly cause: unknown;
};

/** The parts of a request that decide what its fault means. */
export type KnownRequest = Pick<RequestContext, 'operation' | 'begun' | 'idempotencyKey'>;

/**
 * The error response for anything thrown. A Refusal has its own code. An OperationFailure states whether money moved.
 * Everything else is a bug: it may have moved money if the operation moves money and had begun.
 */
export function faultOf(thrown: unknown, request: KnownRequest): Fault {
  const { operation } = request;
  const moved = (known: MoneyMoved): MoneyMoved | undefined => movedBy(operation, known);
  if (thrown instanceof Refusal && isErrorCode(thrown.code)) {
    const { message, details } = thrown;
    const code: ErrorCode = thrown.code;
    return { code, entry: ERRORS[code], message, details, moneyMoved: moved('no'), transferId: undefined, cause: null };
  }
  if (thrown instanceof OperationFailure && thrown.busy) return busyFault(thrown, moved(thrown.moneyMoved));
  const facts = thrown instanceof OperationFailure ? thrown : undefined;
  const bugMoved: MoneyMoved = request.begun ? 'unknown' : 'no';
  const moneyMoved = moved(facts?.moneyMoved ?? bugMoved);
  const transferId = facts?.transferId;
  const code: ErrorCode = operation === undefined ? 'unknown_request' : `unknown_${operation}`;
  const message =
    operation === undefined
      ? 'The request could not be processed.'
      : failureMessage(operation, moneyMoved, transferId, request.idempotencyKey);
  const entry = ERRORS[code];
  return { code, entry, message, details: {}, moneyMoved, transferId, cause: thrown ?? new Error(String(thrown)) };
}

/** The Money-Moved of a response: always 'no' for a dry run, and undefined for an operation that never moves money. */
function movedBy(operation: OperationId | undefined, known: MoneyMoved): MoneyMoved | undefined {
  if (operation === undefined || !saysIfMoneyMoved(operation)) return undefined;
  return movesMoney(operation) ? known : 'no';
}

function busyFault(failure: OperationFailure, moneyMoved: MoneyMoved | undefined): Fault {
  const message = 'The service is overloaded and did not process this request.';
  return {
    code: 'service_unavailable',
    entry: ERRORS.service_unavailable,
    message,
    details: {},
    moneyMoved,
    transferId: failure.transferId,
    cause: failure,
  };
}

function failureMessage(
  operation: OperationId,
  moneyMoved: MoneyMoved | undefined,
  transferId: string | undefined,
  idempotencyKey: string | undefined,
): string {
  const { failure } = OPERATIONS[operation];
  if (moneyMoved === undefined) return `${failure}.`;
  if (moneyMoved === 'no') return `${failure}. No money was moved.`;
  const outcome =
    moneyMoved === 'yes'
      ? `${failure} completely, but the money has moved.`
      : `${failure}, or the outcome could not be confirmed: money may have moved.`;
  return `${outcome} ${howToFindOut(operation, transferId, idempotencyKey)}`;
}
