import { AttemptTimer, beginText, incompleteMessage, type NoResponse, noResponseMessage } from './attempt.ts';
import type { ResponseDetails, WithResponse } from './call.ts';
import {
  ConnectionFailure,
  errorFor,
  type FailedCall,
  IncompleteResponse,
  type MoneyMoved,
  moneyMovedBy,
  type ReceivedRecord,
  readErrorRecord,
  readRetryAfter,
  UnexpectedResponse,
} from './error.ts';
import type { OperationId, Operations } from './generated/operations.ts';
import { type PreparedRequest, prepareRequest } from './request.ts';

/** What the client needs of the platform's fetch. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The settings of a client, with defaults applied. */
export type ClientSettings = {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly key: string | undefined;
  readonly programId: string | undefined;
  readonly timeoutMilliseconds: number;
  readonly maxRetries: number;
  readonly fetch: Fetch;
};

/** Sends one operation and returns the body of its response. */
export type Send = <Id extends OperationId>(
  operation: Id,
  call: Operations[Id]['call'],
) => Promise<WithResponse<Operations[Id]['reply']>>;

type ResponseHead = { readonly status: number; readonly headers: Headers };

type Outcome =
  | ({ readonly kind: 'success'; readonly body: object } & ResponseHead)
  | ({ readonly kind: 'error'; readonly record: ReceivedRecord } & ResponseHead)
  | ({ readonly kind: 'unexpected'; readonly excerpt: string } & ResponseHead)
  | ({ readonly kind: 'no response' } & NoResponse);

type Failure = Exclude<Outcome, { kind: 'success' }>;

const FIRST_BACKOFF_MILLISECONDS = 200;
const MAX_BACKOFF_MILLISECONDS = 5_000;
/** A call should not hang for a Retry-After of an hour: beyond this the error is thrown, and reports the time. */
const MAX_RETRY_AFTER_SECONDS = 30;

/**
 * Sends every call. A call is retried, at most `maxRetries` times, when there is no response or the response has
 * `Should-Retry: true`, and only if it is safe to repeat: a GET, or a request with an idempotency key. An export is not
 * retried after its first chunk.
 *
 * Rejects with a TransferServiceError for an error record, a ConnectionFailure for no response, an UnexpectedResponse
 * for any other response, and an InvalidArgument for what cannot be sent.
 */
export function sender(settings: ClientSettings): Send {
  return async <Id extends OperationId>(operation: Id, call: Operations[Id]['call']) => {
    const request = prepareRequest(settings, operation, call);
    let moneyMoved: MoneyMoved = 'no';
    for (let attempts = 1; ; attempts += 1) {
      const outcome = await attempt(settings, request, attempts);
      if (outcome.kind === 'success') {
        return withResponse<Operations[Id]['reply']>(outcome.body, detailsOf(outcome, request, attempts));
      }
      moneyMoved = moneyMovedSoFar(moneyMoved, outcome, request);
      const failed: FailedCall = { moneyMoved, idempotencyKey: request.idempotencyKey, attempts };
      const wait = attempts > settings.maxRetries ? undefined : backoffMilliseconds(outcome, request, attempts);
      if (wait === undefined) throw failureOf(outcome, request, settings, failed);
      await pause(wait, request.signal);
    }
  };
}

async function attempt(settings: ClientSettings, request: PreparedRequest, attempts: number): Promise<Outcome> {
  const { signal } = request;
  if (signal?.aborted) return { kind: 'no response', reason: 'aborted', mayHaveArrived: false, cause: signal.reason };
  const timer = new AttemptTimer(signal, settings.timeoutMilliseconds);
  let isStreaming = false;
  // Called as a plain function: a browser's fetch throws when it is called as a method of another object.
  const { fetch } = settings;
  try {
    const response = await fetch(request.url, {
      method: request.method,
      headers: request.headers,
      ...(request.body === undefined ? {} : { body: request.body }),
      signal: timer.signal,
      // Following a redirect would turn a POST into a GET, whose response looks like success.
      redirect: 'manual',
    });
    const { status, headers } = response;
    if (!request.isExport || !isCsv(response)) return readRecord(request, status, headers, await response.text());
    const failure = (cause: unknown) => incomplete(timer.noResponse(cause), headers, settings, attempts);
    const body = await beginText(response.body, timer, failure);
    isStreaming = true;
    return { kind: 'success', status, headers, body };
  } catch (cause) {
    return { kind: 'no response', ...timer.noResponse(cause) };
  } finally {
    if (!isStreaming) timer.end();
  }
}

function isCsv({ status, headers }: ResponseHead): boolean {
  return isSuccess(status) && /^text\/csv\b/i.test(headers.get('content-type') ?? '');
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function readRecord({ isExport }: PreparedRequest, status: number, headers: Headers, text: string): Outcome {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  if (!isExport && isSuccess(status) && typeof body === 'object' && body !== null && !Array.isArray(body)) {
    return { kind: 'success', status, headers, body };
  }
  const record = status >= 400 ? readErrorRecord(body) : undefined;
  if (record !== undefined) return { kind: 'error', status, headers, record };
  return { kind: 'unexpected', status, headers, excerpt: text.slice(0, 200) };
}

/** An export moves no money, so the message does not mention money. */
function incomplete(cut: NoResponse, headers: Headers, settings: ClientSettings, attempts: number): IncompleteResponse {
  const { reason, cause } = cut;
  const call = { moneyMoved: 'no', idempotencyKey: undefined, attempts } as const;
  const facts = { ...call, reason, cause, baseUrl: settings.baseUrl };
  return new IncompleteResponse(incompleteMessage(cut, settings), facts, headers);
}

/**
 * Whether all attempts together moved money. An attempt without a response may have moved it, whatever a later response
 * reports about its own request. Except for 409 and 422: if the key had moved money, the response would be the transfer.
 */
function moneyMovedSoFar(before: MoneyMoved, outcome: Failure, request: PreparedRequest): MoneyMoved {
  const now = moneyMovedIn(outcome, request);
  const isCertain = outcome.kind === 'error' && (outcome.status === 409 || outcome.status === 422);
  if (isCertain || before === 'no') return now;
  return now === 'yes' ? now : before;
}

function moneyMovedIn(outcome: Failure, { movesMoney }: PreparedRequest): MoneyMoved {
  if (outcome.kind === 'no response') return movesMoney && outcome.mayHaveArrived ? 'unknown' : 'no';
  return moneyMovedBy(movesMoney, outcome.headers, outcome.kind === 'error' ? outcome.record.Code : undefined);
}

/** How long to wait before a retry; undefined if the request must not be retried. */
function backoffMilliseconds(outcome: Failure, request: PreparedRequest, attempts: number): number | undefined {
  if (!request.repeatable || request.signal?.aborted) return undefined;
  // Up to half is random, so that clients that failed together do not retry together.
  const backoff = Math.min(FIRST_BACKOFF_MILLISECONDS * 2 ** (attempts - 1), MAX_BACKOFF_MILLISECONDS);
  const jittered = backoff * (0.5 + Math.random() / 2);
  if (outcome.kind === 'no response') return jittered;
  if (outcome.headers.get('should-retry') !== 'true') return undefined;
  const retryAfter = readRetryAfter(outcome.headers);
  if (retryAfter === undefined) return jittered;
  return retryAfter > MAX_RETRY_AFTER_SECONDS ? undefined : Math.max(retryAfter * 1000, jittered);
}

/** Waits, or returns at once when the signal aborts; the next attempt then reports that. */
function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
  });
}

function detailsOf({ status, headers }: ResponseHead, request: PreparedRequest, attempts: number): ResponseDetails {
  return {
    status,
    requestId: headers.get('request-id') ?? undefined,
    replayed: headers.get('idempotent-replayed') === 'true',
    idempotencyKey: request.idempotencyKey,
    attempts,
    headers,
  };
}

/** The client trusts the service to respond in the form of the contract; this cast is the only one. */
function withResponse<Body>(body: object, response: ResponseDetails): WithResponse<Body> {
  return Object.defineProperty(body, 'response', { value: response, enumerable: false }) as WithResponse<Body>;
}

function failureOf(outcome: Failure, request: PreparedRequest, settings: ClientSettings, call: FailedCall): Error {
  if (outcome.kind === 'error') return errorFor(outcome.record, outcome.headers, call);
  const consequence = request.movesMoney ? consequenceOf(call, request) : '';
  if (outcome.kind === 'unexpected') {
    const from = `The response to ${request.operation} from ${settings.baseUrl} has status ${outcome.status}`;
    const what = request.isExport ? 'an export' : 'a record';
    const message = `${from}, but is neither an error record nor ${what}. Is there a proxy in between?`;
    return new UnexpectedResponse(message + consequence, outcome, call);
  }
  const { reason, cause } = outcome;
  const message = noResponseMessage(outcome, settings) + consequence;
  return new ConnectionFailure(message, { ...call, reason, cause, baseUrl: settings.baseUrl });
}

function consequenceOf({ moneyMoved, idempotencyKey }: FailedCall, { repeatable }: PreparedRequest): string {
  if (moneyMoved === 'no') return ' No money moved.';
  const moved = moneyMoved === 'yes' ? ' Money moved.' : ' It is unknown whether money moved.';
  if (!repeatable) return `${moved} Check the result before you send the request again.`;
  const key = idempotencyKey === undefined ? '' : ` with the idempotency key "${idempotencyKey}"`;
  return `${moved} Send the same request again${key}: it moves money at most once.`;
}
