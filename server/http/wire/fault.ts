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
import { howToFindOut, isRepeatable } from '../../calls/how-to-find-out.ts';
import { notReady } from '../../foundation/runbook.ts';
import type { RequestContext } from '../request-context.ts';

/** The error response for anything that was thrown. */
export type Fault = {
  readonly code: ErrorCode;
  readonly entry: ErrorDefinition;
  /** The message for the caller, in whole sentences. The sentence about support is added later. */
  readonly message: string;
  readonly details: RefusalDetails;
  /** Set only for operations that move money and for their dry runs. */
  readonly moneyMoved: MoneyMoved | undefined;
  /** Whether sending the request again could repeat its effect, because it may have taken effect despite the error. */
  readonly mayRepeat: boolean;
  readonly transferId: string | undefined;
  /** The thrown value. Null if it was a refusal. */
  readonly cause: unknown;
};

export type KnownRequest = Pick<RequestContext, 'operation' | 'begun' | 'idempotencyKey'>;

/**
 * Returns the error response for any thrown value. A Refusal has a code. An OperationFailure states whether money moved. Everything
 * else is a bug: it may have moved money if the operation moves money and has begun.
 */
export function faultOf(thrown: unknown, request: KnownRequest): Fault {
  const { operation } = request;
  const moved = (known: MoneyMoved): MoneyMoved | undefined => movedBy(operation, known);
  if (thrown instanceof Refusal && isErrorCode(thrown.code)) {
    const { message, details } = thrown;
    const code: ErrorCode = thrown.code;
    const moneyMoved = moved('no');
    return {
      code,
      entry: ERRORS[code],
      message,
      details,
      moneyMoved,
      mayRepeat: false,
      transferId: undefined,
      cause: null,
    };
  }
  if (thrown instanceof OperationFailure && thrown.busy) return busyFault(thrown, moved(thrown.moneyMoved));
  const facts = thrown instanceof OperationFailure ? thrown : undefined;
  const outcome: MoneyMoved = facts?.moneyMoved ?? (request.begun ? 'unknown' : 'no');
  const moneyMoved = moved(outcome);
  const isUnknown = outcome === 'unknown' && operation !== undefined && writes(operation);
  const mayRepeat = isUnknown && request.idempotencyKey === undefined && !isRepeatable(operation);
  const transferId = facts?.transferId;
  const code: ErrorCode = operation === undefined ? 'unknown_request' : `unknown_${operation}`;
  const message =
    operation === undefined
      ? 'The request could not be processed.'
      : failureMessage(operation, { moneyMoved, isUnknown, transferId, idempotencyKey: request.idempotencyKey });
  const entry = ERRORS[code];
  const cause = thrown ?? new Error(String(thrown));
  // If the caller must first check the outcome, telling it to wait is pointless.
  const details = facts?.endsIn === undefined || mayRepeat ? {} : { endsIn: facts.endsIn };
  return { code, entry, message, details, moneyMoved, mayRepeat, transferId, cause };
}

function writes(operation: OperationId): boolean {
  const { method, dryRun } = OPERATIONS[operation];
  return method !== 'GET' && !dryRun;
}

/**
 * Returns the Money-Moved header of a response: always 'no' for a dry run, and undefined for an operation that never moves money.
 */
function movedBy(operation: OperationId | undefined, known: MoneyMoved): MoneyMoved | undefined {
  if (operation === undefined || !saysIfMoneyMoved(operation)) return undefined;
  return movesMoney(operation) ? known : 'no';
}

const OVERLOADED = 'The service is overloaded and did not process this request.';

function busyFault(failure: OperationFailure, moneyMoved: MoneyMoved | undefined): Fault {
  const { readiness, advice } = failure;
  const overloaded = advice === undefined ? OVERLOADED : `${failure.message} ${advice}`;
  const { message, details } = readiness === undefined ? { message: overloaded, details: {} } : notReady(readiness);
  return {
    code: 'service_unavailable',
    entry: ERRORS.service_unavailable,
    message,
    details,
    moneyMoved,
    mayRepeat: false,
    transferId: failure.transferId,
    cause: failure,
  };
}

type Outcome = Pick<Fault, 'moneyMoved' | 'transferId'> & {
  readonly isUnknown: boolean;
  readonly idempotencyKey: string | undefined;
};

function failureMessage(
  operation: OperationId,
  { moneyMoved, isUnknown, transferId, idempotencyKey }: Outcome,
): string {
  const { failure } = OPERATIONS[operation];
  const advice = howToFindOut(operation, transferId, idempotencyKey);
  if (moneyMoved === 'yes') return `${failure} completely, but the money has moved. ${advice}`;
  if (moneyMoved === 'no') return `${failure}. No money was moved.`;
  if (!isUnknown) return `${failure}.`;
  const outcome = `${failure}, or the outcome could not be confirmed`;
  return moneyMoved === undefined ? `${outcome}. ${advice}` : `${outcome}: money may have moved. ${advice}`;
}
