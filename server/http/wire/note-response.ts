import { performance } from 'node:perf_hooks';
import { isErrorCode } from '../../../contract/errors/catalogue.ts';
import { OPERATIONS } from '../../../contract/operations.ts';
import { credentialOf } from '../../calls/call.ts';
import type { ErrorReport, ResponseEntry } from '../reports.ts';
import type { RequestContext } from '../request-context.ts';
import { isStray } from '../stray-requests.ts';
import type { ErrorReporter } from './error-response.ts';

// Invariant: Every response is counted once, even if sending it fails or its connection breaks
// Kept by: `noteResponse`
// Tested by: `test/metrics/metrics.test.ts`

type Listener = Pick<ErrorReporter, 'onResponse'>;
type Known = Pick<ErrorReport, 'code' | 'moneyMoved'>;

/** Passes the entry of a response to the listener, once for each request. Does nothing if there is no listener. */
export function noteResponse(
  { onResponse }: Listener,
  context: RequestContext,
  status: number | undefined,
  error: Known | undefined = context.refusedRow,
): void {
  if (onResponse === undefined || context.isNoted) return;
  context.isNoted = true;
  const { operation, caller } = context;
  notify(onResponse, {
    requestId: context.requestId,
    method: context.request.method,
    path: context.pattern ?? (operation && OPERATIONS[operation].path),
    operation,
    status,
    code: error?.code,
    isStray: isStray(context, error?.code),
    milliseconds: performance.now() - context.beganAt,
    programId: context.programId,
    keyId: credentialOf(caller),
    moneyMoved: error?.moneyMoved,
    traceparent: context.traceparent,
    trace: context.trace,
  });
}

/**
 * Passes the entry of a closed request to the listener, unless it has already been passed. An entry has not been passed
 * if the caller disconnected, or if a route wrote its response without the functions of this folder.
 */
export function noteUnnoted(listener: Listener, context: RequestContext): void {
  if (listener.onResponse === undefined || context.isNoted) return;
  const { response } = context;
  const code = response.headersSent ? response.getHeader('Error-Code') : undefined;
  const error = typeof code === 'string' && isErrorCode(code) ? { code, moneyMoved: undefined } : undefined;
  noteResponse(listener, context, response.headersSent ? response.statusCode : undefined, error);
}

/** Passes the listener the entry of a response that was sent for malformed HTTP. */
export function noteBare({ onResponse }: Listener, requestId: string, { status, code }: ErrorReport): void {
  if (onResponse === undefined) return;
  notify(onResponse, {
    requestId,
    method: undefined,
    path: undefined,
    operation: undefined,
    status,
    code,
    isStray: false,
    milliseconds: 0,
    programId: undefined,
    keyId: undefined,
    moneyMoved: undefined,
    traceparent: undefined,
  });
}

function notify(onResponse: (entry: ResponseEntry) => void, entry: ResponseEntry): void {
  try {
    onResponse(entry);
  } catch {
    // If the listener fails, the response must not be affected.
  }
}
