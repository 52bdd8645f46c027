import { type NoResponse, noResponseMessage } from './attempt.ts';
import {
  ConnectionFailure,
  errorFor,
  type FailedCall,
  type ReceivedRecord,
  readErrorRecord,
  UnexpectedResponse,
} from './error.ts';
import type { OperationId } from './generated/operations.ts';
import { parseJson } from './generated/parse-json.ts';
import type { PreparedRequest } from './request.ts';
import type { ClientSettings, Warn } from './settings.ts';

/** The facts about a response before its body is read. */
export type ResponseHead = { readonly status: number; readonly headers: Headers };

/** The outcome of one attempt. */
export type Outcome =
  | ({ readonly kind: 'success'; readonly body: object } & ResponseHead)
  | ({ readonly kind: 'error'; readonly record: ReceivedRecord } & ResponseHead)
  | ({ readonly kind: 'unexpected'; readonly excerpt: string } & ResponseHead)
  | ({ readonly kind: 'no response' } & NoResponse);

/** The outcome of an attempt that did not succeed. */
export type Failure = Exclude<Outcome, { kind: 'success' }>;

const EXPECTED: Readonly<Record<PreparedRequest['expects'], string>> = {
  record: 'a record',
  export: 'an export',
  stream: 'a stream of events',
};

/** Whether a status reports success. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Reads a response that is not streamed. */
export function readRecord({ expects }: PreparedRequest, status: number, headers: Headers, text: string): Outcome {
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    body = undefined;
  }
  if (expects === 'record' && isSuccess(status) && typeof body === 'object' && body !== null && !Array.isArray(body)) {
    return { kind: 'success', status, headers, body };
  }
  const record = status >= 400 ? readErrorRecord(body) : undefined;
  if (record !== undefined) return { kind: 'error', status, headers, record };
  return { kind: 'unexpected', status, headers, excerpt: text.slice(0, 200) };
}

/** Returns the error that the last attempt of a call throws. */
export function failureOf(
  outcome: Failure,
  request: PreparedRequest,
  settings: ClientSettings,
  call: FailedCall,
): Error {
  if (outcome.kind === 'error') return errorFor(outcome.record, outcome.headers, call);
  const consequence = request.movesMoney ? consequenceOf(call, request) : '';
  if (outcome.kind === 'unexpected') {
    const from = `The response to ${request.operation} from ${settings.baseUrl} has status ${outcome.status}`;
    const message = `${from}, but is neither an error record nor ${EXPECTED[request.expects]}. Is there a proxy in between?`;
    return new UnexpectedResponse(message + consequence, outcome, call);
  }
  const { reason, cause } = outcome;
  const { timeoutMilliseconds } = request;
  const message = noResponseMessage(outcome, { ...settings, timeoutMilliseconds }) + consequence;
  return new ConnectionFailure(message, { ...call, reason, cause, baseUrl: settings.baseUrl });
}

function consequenceOf({ moneyMoved, idempotencyKey }: FailedCall, { repeatable }: PreparedRequest): string {
  if (moneyMoved === 'no') return ' No money moved.';
  const moved = moneyMoved === 'yes' ? ' Money moved.' : ' It is unknown whether money moved.';
  if (!repeatable) return `${moved} Check the result before you send the request again.`;
  const key = idempotencyKey === undefined ? '' : ` with the idempotency key "${idempotencyKey}"`;
  return `${moved} Send the same request again${key}: it moves money at most once.`;
}

const warned = new Set<OperationId>();

/**
 * Warns if a sandbox has ignored fields of a request, once per process for each operation. A live service causes no
 * warning, because it would fill a log that the author of the request may never read. Never throws, because the response
 * matters more.
 */
export function warnOfIgnoredFields(operation: OperationId, headers: Headers, warn: Warn | undefined): void {
  const names = headers.get('ignored-fields');
  if (warn === undefined || names === null || headers.get('sandbox') !== 'true' || warned.has(operation)) return;
  warned.add(operation);
  try {
    warn(`The service ignored fields that ${operation} does not have: ${names}.`);
  } catch {
    // A failed warning does not affect the call.
  }
}
