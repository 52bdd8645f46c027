import type { InspectedErrorRecord, LoggedErrorRecord, OperatorErrorRecord } from '../../../contract/error-log.ts';
import { ERROR_TYPES, type ErrorRecord, type ErrorType } from '../../../contract/errors/record.ts';
import type { RefusalCode } from '../../../domain/error-codes.ts';
import { toCredentialId, toWireId } from '../../../domain/identifier.ts';
import type { Json } from '../../foundation/redaction.ts';
import { type LoggedError, timeOfId } from '../../store/error.ts';

/** Returns an error in the form for its card program: without checks, causes and caller. */
export function toLoggedErrorRecord(error: LoggedError): LoggedErrorRecord {
  return {
    request_id: toWireId('req', error.requestId),
    created_at: timeOfId(error.requestId).toISOString(),
    operation: error.operation,
    code: error.code,
    status: error.status,
    type: typeOf(error),
    message: error.message,
    field: error.field,
    method: error.method,
    path: error.path,
    card_id: error.cardName,
    transfer_id: error.transferId === null ? null : toWireId('tr', error.transferId),
    idempotency_key: error.idempotencyKey,
    key_id: error.keyId === null ? null : toCredentialId(error.keyId),
    money_moved: error.moneyMoved,
    request: toObject(error.request),
    traceparent: error.traceparent,
  };
}

export function toOperatorErrorRecord(error: LoggedError): OperatorErrorRecord {
  return {
    ...toLoggedErrorRecord(error),
    program_id: error.programId === null ? null : toWireId('prog', error.programId),
    caller: error.caller,
    checks: checksOf(error.checks),
  };
}

export function toInspectedErrorRecord(error: LoggedError): InspectedErrorRecord {
  return {
    ...toOperatorErrorRecord(error),
    causes: error.causes.map(({ name, message, stack }) => ({
      name,
      message,
      stack: stack === null ? [] : stack.split('\n').map((frame) => frame.trim()),
    })),
  };
}

/** Returns the error record of a response (specification, 2.1) from its stored fields. */
export function toErrorRecord(error: Pick<LoggedError, 'message' | 'status' | 'code' | 'type'>): ErrorRecord {
  return {
    Message: error.message,
    Status: error.status,
    // An unknown code, from a different version, is shown unchanged.
    Code: error.code as RefusalCode,
    Type: typeOf(error),
  };
}

function typeOf({ type }: Pick<LoggedError, 'type'>): ErrorType {
  return ERROR_TYPES.find((known) => known === type) ?? 'Server Error';
}

/** Milliseconds since 1970, for times from 2001 to 2286. */
const MILLISECONDS = /^[1-9]\d{12}$/;

/** Returns the values that the check used. Earlier versions stored the end of a disabled scope as milliseconds since 1970. */
function checksOf(value: Json): Record<string, unknown> | null {
  const checks = toObject(value);
  if (checks === null || !MILLISECONDS.test(String(checks.until))) return checks;
  return { ...checks, until: new Date(Number(checks.until)).toISOString() };
}

function toObject(value: Json): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
}
