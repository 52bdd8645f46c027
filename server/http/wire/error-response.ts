import { type ErrorRecord, withSupport } from '../../../contract/errors/record.ts';
import { CASE_PATH } from '../../../contract/support/cases.ts';
import { redactCardNumbers } from '../../../domain/cards/card-number.ts';
import { maskLongNumbers } from '../../../domain/cards/masked-text.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { RefusalDetails } from '../../../domain/refusal.ts';
import { credentialOf, type Gateway, type RefusedRow } from '../../calls/call.ts';
import { maskPath } from '../../foundation/redaction.ts';
import { rateHeaders } from '../admission/rate-limits.ts';
import type { ErrorReport, ResponseEntry } from '../reports.ts';
import type { RequestContext } from '../request-context.ts';
import { isStray } from '../stray-requests.ts';
import { type Fault, faultOf } from './fault.ts';
import { clientRequestId } from './request-head.ts';

/** The headers in the order of sending. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** An error that is ready to send: with a response, or on a socket without a response. */
export type ErrorResponse = {
  readonly status: number;
  readonly record: ErrorRecord;
  /** The record as JSON, with its fields in the order of the specification. */
  readonly body: string;
  readonly headers: HeaderList;
  readonly report: ErrorReport;
};

export type ErrorReporter = {
  readonly supportContact: string;
  readonly findSupport: Gateway['findSupport'];
  readonly onError: ((report: ErrorReport) => void) | undefined;
  readonly onResponse: ((entry: ResponseEntry) => void) | undefined;
};

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Maximum length of an unknown path in the error log, in characters: enough to recognize it, without filling the log. */
export const MAX_PATH_LENGTH = 200;

/** Composes the response to any value that was thrown while `context` was served. */
export function composeErrorResponse(thrown: unknown, context: RequestContext, reporter: ErrorReporter): ErrorResponse {
  const fault = faultOf(thrown, context);
  const { request } = context;
  const headers = [...faultHeaders(fault, context), ...contextHeaders(context)];
  return compose(fault, context, reporter, headers, {
    isStray: isStray(context, fault.code),
    address: context.address,
    method: request.method,
    path: context.pattern ?? maskPath(context.path).slice(0, MAX_PATH_LENGTH),
    programId: context.programId,
    ...callerOf(context),
    operation: context.operation,
    idempotencyKey: context.idempotencyKey,
    fields: context.fields,
    parameters: context.parameters,
    traceparent: context.traceparent,
  });
}

/** Returns the error log entry for a batch with refused rows. It reports the most severe row as if it were a single request. */
export function reportRow(row: RefusedRow, context: RequestContext, reporter: ErrorReporter): ErrorReport {
  const idempotencyKey = row.idempotencyKey ?? undefined;
  const operation = 'create_transfer';
  const fault = faultOf(row.thrown, { operation, begun: true, idempotencyKey });
  return compose(fault, context, reporter, [], {
    isStray: false,
    address: context.address,
    method: context.request.method,
    path: context.pattern,
    programId: context.programId,
    ...callerOf(context),
    operation,
    idempotencyKey,
    fields: { row: row.index, refused_rows: row.refused },
    parameters: undefined,
    traceparent: context.traceparent,
  }).report;
}

function callerOf({ caller }: RequestContext): Pick<ErrorReport, 'caller' | 'keyId'> {
  return { caller: caller?.kind, keyId: credentialOf(caller) };
}

/** Composes the response to bytes that are not an HTTP request. */
export function composeBareResponse(
  thrown: unknown,
  requestId: string,
  reporter: ErrorReporter,
  allow?: string,
): ErrorResponse {
  const nothing = { operation: undefined, idempotencyKey: undefined, parameters: undefined };
  const fault = faultOf(thrown, { ...nothing, begun: false });
  const headers = faultHeaders(fault, { allow });
  const unread = {
    isStray: false,
    address: undefined,
    method: undefined,
    path: undefined,
    programId: undefined,
    caller: undefined,
    keyId: undefined,
    fields: undefined,
    traceparent: undefined,
  };
  return compose(fault, { requestId, startedAt: Date.now() }, reporter, headers, { ...nothing, ...unread });
}

type Sent = Pick<
  ErrorReport,
  | 'isStray'
  | 'address'
  | 'method'
  | 'path'
  | 'parameters'
  | 'programId'
  | 'caller'
  | 'keyId'
  | 'operation'
  | 'idempotencyKey'
  | 'fields'
  | 'traceparent'
>;

function compose(
  fault: Fault,
  request: { readonly requestId: string; readonly startedAt: number },
  reporter: ErrorReporter,
  headers: HeaderList,
  sent: Sent,
): ErrorResponse {
  const { code, entry, details } = fault;
  const { status, type } = entry;
  const wireId = toWireId('req', request.requestId);
  // Messages quote the request, so card numbers are removed from all of them.
  const cause = redactCardNumbers(fault.message);
  const message =
    type === 'Request Error' ? cause : withSupport(cause, { contact: reporter.supportContact, requestId: wireId });
  const record: ErrorRecord = { Message: message, Status: status, Code: code, Type: type };
  const report: ErrorReport = {
    ...sent,
    keyId: sent.keyId ?? details.keyId,
    requestId: request.requestId,
    at: request.startedAt,
    code,
    status,
    type,
    message,
    moneyMoved: fault.moneyMoved,
    // With the id of the transfer, errors of operations on the transfer can be found, too.
    transferId: fault.transferId ?? sent.parameters?.transfer_id,
    saw: details.saw,
    field: details.field,
    cause: fault.cause ?? undefined,
  };
  const { operation, programId } = sent;
  const support = type === 'Request Error' ? undefined : reporter.findSupport({ code, operation, programId });
  const common: HeaderList = [['Content-Type', JSON_TYPE], ['Request-Id', wireId], ...COMMON_HEADERS];
  return {
    status,
    record,
    body: JSON.stringify(record),
    headers: [...common, ...headers, ...supportHeaders(support)],
    report,
  };
}

/** Returns headers that tell the caller how to reach support, for errors that the caller cannot resolve. */
function supportHeaders(support: ReturnType<Gateway['findSupport']>): HeaderList {
  if (support === undefined) return [];
  const { incidentId } = support;
  return [['Support-Case', CASE_PATH], ...(incidentId === undefined ? [] : [['Incident', incidentId] as const])];
}

const COMMON_HEADERS: HeaderList = [
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
];

function faultHeaders(fault: Fault, request: Pick<RequestContext, 'allow'>): HeaderList {
  const { code, entry, details, moneyMoved, mayRepeat, transferId } = fault;
  const retryAfter = retryAfterSeconds(fault);
  const headers: [string, string][] = [
    ['Error-Code', code],
    ['Link', `</errors/${code}>; rel="describedby"`],
    ['Should-Retry', String(entry.retryable && !mayRepeat)],
  ];
  if (moneyMoved !== undefined) headers.push(['Money-Moved', moneyMoved]);
  if (transferId !== undefined) headers.push(['Transfer-Id', headerSafe(transferId)]);
  if (retryAfter !== undefined) headers.push(['Retry-After', String(retryAfter)]);
  if (details.field !== undefined && details.field !== '')
    headers.push(['Error-Field', headerSafe(redactCardNumbers(details.field))]);
  if (details.readiness !== undefined)
    headers.push(['Readiness', details.readiness.reason], ['Runbook', details.readiness.runbook]);
  if (details.version !== undefined) headers.push(['ETag', details.version]);
  if (details.replayed === true) headers.push(['Idempotent-Replayed', 'true']);
  if (details.originalRequestId !== undefined) headers.push(['Original-Request-Id', details.originalRequestId]);
  if (code === 'method_not_allowed' && request.allow !== undefined) headers.push(['Allow', request.allow]);
  for (const { name, value, constant } of entry.headers) if (constant === true) headers.push([name, value]);
  return headers;
}

function retryAfterSeconds(fault: { readonly code: string; readonly details: RefusalDetails }): number | undefined {
  const { endsIn = fault.code === 'service_unavailable' ? 1000 : undefined } = fault.details;
  return endsIn === undefined ? undefined : Math.max(1, Math.ceil(endsIn / 1000));
}

export function contextHeaders(context: RequestContext): HeaderList {
  const headers: [string, string][] = [];
  const clientId = clientRequestId(context.request);
  if (clientId !== undefined) headers.push(['Client-Request-Id', clientId]);
  if (context.ignored.length > 0) {
    headers.push(['Ignored-Fields', ignoredFields(context.ignored)]);
    if (context.isSandbox) headers.push(['Sandbox', 'true']);
  }
  if (context.keyUsedBy.length > 0) headers.push(['Idempotency-Key-Reused', context.keyUsedBy.join(', ')]);
  if (context.ignoresKey) headers.push(['Ignored-Headers', 'Idempotency-Key']);
  if (context.rate.length > 0) for (const [name, value] of rateHeaders(context.rate)) headers.push([name, value]);
  if (context.setCookie !== undefined) headers.push(['Set-Cookie', context.setCookie]);
  if (context.mustClose) headers.push(['Connection', 'close']);
  return headers;
}

const MAX_IGNORED_FIELDS = 20;

function ignoredFields(names: readonly string[]): string {
  const shown = names
    .slice(0, MAX_IGNORED_FIELDS)
    .map((name) => percentEncoded(redactCardNumbers(maskLongNumbers(name)).slice(0, 40)));
  return names.length > MAX_IGNORED_FIELDS ? `${shown.join(', ')}, ...` : shown.join(', ');
}

function percentEncoded(name: string): string {
  return encodeURIComponent(name.toWellFormed());
}

/** Maximum number of characters of the caller's text in a header, before percent-encoding. */
const MAX_HEADER_LENGTH = 300;

/**
 * Returns text for a header, cut to {@link MAX_HEADER_LENGTH}. Printable ASCII stays unchanged. All other characters are
 * percent-encoded.
 */
export function headerSafe(text: string): string {
  if (text.length <= MAX_HEADER_LENGTH && !/[^\x20-\x7e]/.test(text)) return text;
  return text
    .slice(0, MAX_HEADER_LENGTH)
    .toWellFormed()
    .replaceAll(/[^\x20-\x7e]/gu, percentEncoded);
}

/** Reports to the error log, unless the request was stray. If the log fails, the response must not fail. */
export function reportError(reporter: ErrorReporter, report: ErrorReport): void {
  if (report.isStray) return;
  try {
    reporter.onError?.(report);
  } catch {
    // The response is more important than its log entry, and the log counts the entries that it loses.
  }
}
