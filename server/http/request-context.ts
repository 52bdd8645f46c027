import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { OperationId } from '../../contract/operations.ts';
import { containsCardNumber } from '../../domain/cards/card-number.ts';
import { toWireId } from '../../domain/identifier.ts';
import type { Refusal } from '../../domain/refusal.ts';
import type { Caller } from '../calls/call.ts';
import type { RequestTrace } from '../calls/trace.ts';
import { newId } from '../foundation/ids.ts';
import type { Connection } from './admission/connection.ts';
import type { RateStatus } from './admission/rate-limiter.ts';
import type { ErrorReport } from './reports.ts';
import type { RequestHead } from './wire/request-head.ts';

const NOT_LIMITED: RateStatus = [];

/** A request and everything known about it so far. Response headers and error reports are created from it. */
export class RequestContext {
  /** Inner UUID of the request. */
  readonly requestId = newId();
  /** When the request began, as a value of `performance.now()`. */
  readonly beganAt = performance.now();
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: Connection;
  /** Path and query. Set before the head is read, so that every refusal can name the operation. */
  target: string;
  /** The authority of a target in absolute form. It replaces the Host header. */
  authority: string | undefined = undefined;
  head: RequestHead | undefined = undefined;
  operation: OperationId | undefined = undefined;
  /** Whether the response is streamed at the caller's reading speed. Such a request never counts as late. */
  isStreamed = false;
  pattern: string | undefined = undefined;
  parameters: Readonly<Record<string, string>> | undefined = undefined;
  address: string | undefined = undefined;
  caller: Caller | undefined = undefined;
  /** Whether the console sent the request automatically, without an action by its user. See `isOfConsoleItself`. */
  isOfConsole = false;
  programId: string | undefined = undefined;
  idempotencyKey: string | undefined = undefined;
  fields: Readonly<Record<string, unknown>> | undefined = undefined;
  ignored: readonly string[] = [];
  /** Whether the service is a sandbox. False until the step that reads the fields of the request. */
  isSandbox = false;
  /** In a sandbox: other operations that have used the Idempotency-Key of the request. */
  keyUsedBy: readonly OperationId[] = [];
  /** Whether an Idempotency-Key was sent that the operation does not use. */
  ignoresKey = false;
  /** The methods of the path, for the Allow header. */
  allow: string | undefined = undefined;
  /** The Set-Cookie header of the response: the session cookie, or its removal. */
  setCookie: string | undefined = undefined;
  /** Whether the operation has started. From then on, a bug may have moved money. */
  begun = false;
  /** Whether the caller waits for `100 Continue` before it sends the body. */
  awaitsContinue = false;
  /** Whether the connection must close after this response. */
  mustClose = false;
  responded = false;
  /** The trace of the caller. Null before it is read. */
  #traceparent: string | undefined | null = null;
  trace: RequestTrace | undefined = undefined;
  /** For a successful batch with refused rows: the error for the error log. */
  refusedRow: Pick<ErrorReport, 'code' | 'moneyMoved'> | undefined = undefined;
  /** Whether `onResponse` has received the entry of this request. */
  isNoted = false;
  /** The refusal by the rate limit of the caller's address. It is thrown later, because other errors take precedence. */
  addressLimitRefusal: Refusal | undefined = undefined;
  /** The state of each rate limit after this request. Empty if there are no rate limits. */
  rate: RateStatus = NOT_LIMITED;
  /** When the wait for the current step began, as a value of `performance.now()`. */
  waitingSince = Number.POSITIVE_INFINITY;
  /** When the current step times out, as a value of `performance.now()`. */
  timesOutAt = Number.POSITIVE_INFINITY;
  /**
   * When the response was first found to be completely written but not yet read, as a value of `performance.now()`.
   */
  writtenAt: number | undefined = undefined;
  /** Stops waiting for the current step, with an error. */
  abandon: ((reason: Error) => void) | undefined = undefined;
  /** Whether the operation was abandoned. Then the request already has a response, and the operation's reply is discarded. */
  isAbandoned = false;

  constructor(request: IncomingMessage, response: ServerResponse, connection: Connection) {
    this.request = request;
    this.response = response;
    this.connection = connection;
    this.target = request.url ?? '/';
  }

  /** When the request began, in milliseconds since 1970. */
  get startedAt(): number {
    return Math.round(Date.now() - (performance.now() - this.beganAt));
  }

  get traceparent(): string | undefined {
    // Node joins the values of a repeated header. The result is invalid, as the standard requires.
    if (this.#traceparent === null) this.#traceparent = readTraceparent(this.request.headers.traceparent);
    return this.#traceparent;
  }

  /** See `CallContext.isGone`. A caller that is already reading the response may have half-closed the connection. */
  isGone(isWaiting: boolean): boolean {
    if (this.isAbandoned || this.response.destroyed) return true;
    return isWaiting && !this.responded && this.request.socket.readableEnded;
  }

  get wireId(): string {
    return toWireId('req', this.requestId);
  }

  get path(): string {
    const end = this.target.indexOf('?');
    return end === -1 ? this.target : this.target.slice(0, end);
  }
}

/** Version, trace id, id of the caller's span, and flags. Later versions may have more fields at the end. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);

/** The flag that the caller sets if it records the trace. */
const SAMPLED = 1;

/**
 * Returns a `traceparent` header (W3C Trace Context) in version 00, or undefined if it is invalid. From a later version, only the
 * fields of version 00 are kept. A header that looks like a card number is ignored too, because it would be stored.
 */
export function readTraceparent(sent: unknown): string | undefined {
  if (typeof sent !== 'string') return undefined;
  const [, version, traceId, spanId, flags = '', more] = TRACEPARENT.exec(sent) ?? [];
  if (version === undefined || version === 'ff' || traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  if (containsCardNumber(sent)) return undefined;
  if (version === '00') return sent;
  return `00-${traceId}-${spanId}-0${Number.parseInt(flags, 16) & SAMPLED}`;
}
