import type { OperationId } from '../contract/operations.ts';
import type { MoneyMoved } from '../domain/catalogue-entry.ts';
import {
  ConnectionFailure,
  errorFor,
  type FailedCall,
  IncompleteAnswer,
  moneyMovedBy,
  type ReceivedRecord,
  readErrorRecord,
  readRetryAfter,
  UnexpectedAnswer,
} from './error.ts';
import type { Answered, ResponseFacts } from './records.ts';
import { type Asked, type PreparedRequest, prepareRequest } from './request.ts';
import { brokenOffText, type Silence, silenceOf, silenceText } from './silence.ts';
import { beginText } from './text-chunks.ts';
import { Watch } from './watch.ts';

/** What the client needs of the platform's fetch. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The settings of a client, all decided. */
export type ClientSettings = {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  readonly key: string | undefined;
  readonly programId: string | undefined;
  readonly timeoutMilliseconds: number;
  readonly maximumRetries: number;
  readonly fetch: Fetch;
};

/** Sends one operation and gives the record of its answer; for an export, the TextChunks of it. */
export type Send = <Body extends object>(operation: OperationId, asked: Asked) => Promise<Answered<Body>>;

type Answer = { readonly status: number; readonly headers: Headers };

type Outcome =
  | ({ readonly kind: 'success'; readonly body: object } & Answer)
  | ({ readonly kind: 'error'; readonly record: ReceivedRecord } & Answer)
  | ({ readonly kind: 'unexpected'; readonly excerpt: string } & Answer)
  | ({ readonly kind: 'silence' } & Silence);

type Failure = Exclude<Outcome, { kind: 'success' }>;

const FIRST_WAIT_MILLISECONDS = 200;
const LONGEST_BACKOFF_MILLISECONDS = 5_000;
/** Nobody wants a call to hang on a Retry-After of an hour; beyond this the error is thrown and says how long. */
const LONGEST_RETRY_AFTER_SECONDS = 30;

/**
 * How every call goes out. It is sent again, at most `maximumRetries` times, when the answer says `Should-Retry: true`
 * or there is none, and only if it is safe to repeat: a GET, or a request with an idempotency key. An export is not
 * asked for again once its first piece is there.
 *
 * Rejects with a TransferServiceError for an error record, ConnectionFailure for no answer, UnexpectedAnswer for an
 * answer of something else, InvalidArgument for what cannot be sent.
 */
export function sender(settings: ClientSettings): Send {
  return async <Body extends object>(operation: OperationId, asked: Asked) => {
    const request = prepareRequest(settings, operation, asked);
    let moneyMoved: MoneyMoved = 'no';
    for (let attempts = 1; ; attempts += 1) {
      const outcome = await attempt(settings, request, attempts);
      if (outcome.kind === 'success') {
        return withResponse<Body>(outcome.body, factsOf(outcome, request, attempts));
      }
      moneyMoved = moneyMovedSoFar(moneyMoved, outcome, request);
      const call: FailedCall = { moneyMoved, idempotencyKey: request.idempotencyKey, attempts };
      const wait = attempts > settings.maximumRetries ? undefined : waitBeforeRetry(outcome, request, attempts);
      if (wait === undefined) throw failureOf(outcome, request, settings, call);
      await pause(wait, request.signal);
    }
  };
}

async function attempt(settings: ClientSettings, request: PreparedRequest, attempts: number): Promise<Outcome> {
  const { signal } = request;
  if (signal?.aborted) return { kind: 'silence', reason: 'aborted', mayHaveArrived: false, cause: signal.reason };
  const watch = new Watch(signal, settings.timeoutMilliseconds);
  let isHandedOver = false;
  // Called as a plain function: a browser's fetch refuses to be the method of another object.
  const { fetch } = settings;
  try {
    const response = await fetch(request.url, {
      method: request.method,
      headers: request.headers,
      ...(request.body === undefined ? {} : { body: request.body }),
      signal: watch.signal,
      // Following would turn a POST into a GET, whose answer looks like success.
      redirect: 'manual',
    });
    const { status, headers } = response;
    if (!request.isExport || !isCsv(response)) return readAnswer(request, status, headers, await response.text());
    const failure = (cause: unknown) => brokenOff(silenceOf(cause, watch), headers, settings, attempts);
    const body = await beginText(response.body, watch, failure);
    isHandedOver = true;
    return { kind: 'success', status, headers, body };
  } catch (cause) {
    return { kind: 'silence', ...silenceOf(cause, watch) };
  } finally {
    if (!isHandedOver) watch.end();
  }
}

function isCsv({ status, headers }: Answer): boolean {
  return isSuccess(status) && /^text\/csv\b/i.test(headers.get('content-type') ?? '');
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function readAnswer({ isExport }: PreparedRequest, status: number, headers: Headers, text: string): Outcome {
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

/** An export moves nothing, so there is nothing to say of money. */
function brokenOff(silence: Silence, headers: Headers, settings: ClientSettings, attempts: number): IncompleteAnswer {
  const { reason, cause } = silence;
  const call = { moneyMoved: 'no', idempotencyKey: undefined, attempts } as const;
  const facts = { ...call, reason, cause, baseUrl: settings.baseUrl };
  return new IncompleteAnswer(brokenOffText(silence, settings), facts, headers);
}

/**
 * What all attempts together mean for money. An attempt without an answer may have moved it, whatever the next one
 * says of itself; except that a 409 and a 422 are said of the key: a key that had moved money would be answered with
 * what it made.
 */
function moneyMovedSoFar(before: MoneyMoved, outcome: Failure, request: PreparedRequest): MoneyMoved {
  const now = moneyMovedIn(outcome, request);
  const settlesTheKey = outcome.kind === 'error' && (outcome.status === 409 || outcome.status === 422);
  if (settlesTheKey || before === 'no') return now;
  return now === 'yes' ? now : before;
}

function moneyMovedIn(outcome: Failure, { movesMoney }: PreparedRequest): MoneyMoved {
  if (outcome.kind === 'silence') return movesMoney && outcome.mayHaveArrived ? 'unknown' : 'no';
  return moneyMovedBy(movesMoney, outcome.headers, outcome.kind === 'error' ? outcome.record.Code : undefined);
}

/** Milliseconds to wait before the request is sent again; undefined when it must not be. */
function waitBeforeRetry(outcome: Failure, request: PreparedRequest, attempts: number): number | undefined {
  if (!request.repeatable || request.signal?.aborted) return undefined;
  // Half of it by chance, so that clients that failed together do not come back together.
  const backoff = Math.min(FIRST_WAIT_MILLISECONDS * 2 ** (attempts - 1), LONGEST_BACKOFF_MILLISECONDS);
  const jittered = backoff * (0.5 + Math.random() / 2);
  if (outcome.kind === 'silence') return jittered;
  if (outcome.headers.get('should-retry') !== 'true') return undefined;
  const retryAfter = readRetryAfter(outcome.headers);
  if (retryAfter === undefined) return jittered;
  return retryAfter > LONGEST_RETRY_AFTER_SECONDS ? undefined : Math.max(retryAfter * 1000, jittered);
}

/** Waits, but not beyond an abort: the attempt that follows notices it. */
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

function factsOf(answer: Answer, request: PreparedRequest, attempts: number): ResponseFacts {
  return {
    status: answer.status,
    requestId: answer.headers.get('request-id') ?? undefined,
    replayed: answer.headers.get('idempotent-replayed') === 'true',
    idempotencyKey: request.idempotencyKey,
    attempts,
    headers: answer.headers,
  };
}

function withResponse<Body extends object>(body: object, response: ResponseFacts): Answered<Body> {
  return Object.defineProperty(body, 'response', { value: response, enumerable: false }) as Answered<Body>;
}

function failureOf(outcome: Failure, request: PreparedRequest, settings: ClientSettings, call: FailedCall): Error {
  if (outcome.kind === 'error') return errorFor(outcome.record, outcome.headers, call);
  const consequence = request.movesMoney ? consequenceOf(call, request) : '';
  if (outcome.kind === 'unexpected') {
    const from = `${settings.baseUrl} answered ${request.operation} with status ${outcome.status}`;
    const what = request.isExport ? 'an export' : 'a record';
    const message = `${from}, but not with an error record or ${what} of the service: is something in between?`;
    return new UnexpectedAnswer(message + consequence, outcome, call);
  }
  const { reason, cause } = outcome;
  const message = silenceText(outcome, settings) + consequence;
  return new ConnectionFailure(message, { ...call, reason, cause, baseUrl: settings.baseUrl });
}

function consequenceOf({ moneyMoved, idempotencyKey }: FailedCall, { repeatable }: PreparedRequest): string {
  if (moneyMoved === 'no') return ' No money moved.';
  const moved = moneyMoved === 'yes' ? ' Money moved.' : ' It is unknown whether money moved.';
  if (!repeatable) return `${moved} Read what became of it before you send it again.`;
  const key = idempotencyKey === undefined ? '' : ` with the idempotency key "${idempotencyKey}"`;
  return `${moved} Send the same request again${key}: it moves money at most once.`;
}
