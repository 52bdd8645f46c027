import { AttemptTimer, beginText, incompleteMessage, type NoResponse } from './attempt.ts';
import { backoffMilliseconds, pause } from './backoff.ts';
import type { MoneyMoved, ResponseDetails, WithResponse } from './call.ts';
import { AwaitsApproval, type FailedCall, IncompleteResponse, moneyMovedBy, withOpener } from './error.ts';
import type { ApprovalRecord, OperationId, Operations } from './generated/operations.ts';
import {
  type Failure,
  failureOf,
  isSuccess,
  type Outcome,
  type ResponseHead,
  readRecord,
  warnOfIgnoredFields,
} from './outcome.ts';
import { type PreparedRequest, prepareRequest } from './request.ts';
import type { ClientSettings } from './settings.ts';

/** Sends one operation and returns the body of its response. */
export type Send = <Id extends OperationId>(
  operation: Id,
  call: Operations[Id]['call'],
) => Promise<WithResponse<Operations[Id]['reply']>>;

/**
 * Sends every call. A call is retried, at most `maxRetries` times, when there is no response or the response has
 * `Should-Retry: true`, and only if it is safe to repeat: a GET, or a request with an idempotency key. An export is not
 * retried after its first chunk.
 *
 * Rejects with a TransferServiceError for an error record, a ConnectionFailure for no response, an UnexpectedResponse for
 * any other response, and an InvalidArgument for values that cannot be sent.
 */
export function sender(settings: ClientSettings): Send {
  const send: Send = async <Id extends OperationId>(operation: Id, call: Operations[Id]['call']) => {
    const request = prepareRequest(settings, operation, call);
    let moneyMoved: MoneyMoved = 'no';
    for (let attempts = 1; ; attempts += 1) {
      const outcome = await attempt(settings, request, attempts);
      if (outcome.kind === 'success') {
        const details = detailsOf(outcome, request, attempts);
        // A 202 response contains an approval, not the result of the operation.
        if (outcome.status === 202) throw new AwaitsApproval(outcome.body as ApprovalRecord, details);
        return withResponse<Operations[Id]['reply']>(outcome.body, details);
      }
      moneyMoved = moneyMovedSoFar(moneyMoved, outcome, request);
      const failed: FailedCall = { moneyMoved, idempotencyKey: request.idempotencyKey, attempts };
      const wait = attempts > request.maxRetries ? undefined : backoffMilliseconds(outcome, request, attempts);
      if (wait === undefined) {
        const options = { programId: call.options?.programId };
        throw withOpener(failureOf(outcome, request, settings, failed), (body) =>
          send('create_case', { body, options }),
        );
      }
      await pause(wait, request.signal);
    }
  };
  return send;
}

async function attempt(settings: ClientSettings, request: PreparedRequest, attempts: number): Promise<Outcome> {
  const { signal } = request;
  if (signal?.aborted) return { kind: 'no response', reason: 'aborted', mayHaveArrived: false, cause: signal.reason };
  const timer = new AttemptTimer(signal, request.timeoutMilliseconds);
  let isStreaming = false;
  // Called as a plain function, because a browser's fetch throws when it is called as a method of another object.
  const { fetch } = settings;
  try {
    const response = await fetch(request.url, {
      method: request.method,
      headers: new Headers(request.headers),
      ...(request.body === undefined ? {} : { body: request.body }),
      signal: timer.signal,
      // Following a redirect would turn a POST into a GET, whose response looks like success.
      redirect: 'manual',
    });
    const { status, headers } = response;
    warnOfIgnoredFields(request.operation, headers, settings.warn);
    if (request.expects !== 'export' || !isCsv(response))
      return readRecord(request, status, headers, await response.text());
    const failure = (cause: unknown) =>
      incomplete(timer.noResponse(cause), headers, { ...settings, ...request }, attempts);
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

/** Returns the error of a truncated export. An export moves no money, so the message does not mention money. */
function incomplete(cut: NoResponse, headers: Headers, settings: ClientSettings, attempts: number): IncompleteResponse {
  const { reason, cause } = cut;
  const call = { moneyMoved: 'no', idempotencyKey: undefined, attempts } as const;
  const facts = { ...call, reason, cause, baseUrl: settings.baseUrl };
  return new IncompleteResponse(incompleteMessage(cut, settings), facts, headers);
}

/**
 * Returns whether all attempts together moved money. An attempt without a response may have moved money, even if a later response
 * reports that its own request did not. A 409 or 422 is certain: if the key had moved money, the response would be the transfer.
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

function detailsOf({ status, headers }: ResponseHead, request: PreparedRequest, attempts: number): ResponseDetails {
  return {
    status,
    requestId: headers.get('request-id') ?? undefined,
    replayed: headers.get('idempotent-replayed') === 'true',
    moneyMoved: moneyMovedBy(request.movesMoney, headers, undefined),
    idempotencyKey: request.idempotencyKey,
    version: headers.get('etag') ?? undefined,
    attempts,
    headers,
  };
}

/**
 * Adds the details to a body. This is the only cast: the client trusts the service to respond as the contract says.
 */
function withResponse<Body>(body: object, response: ResponseDetails): WithResponse<Body> {
  return Object.defineProperty(body, 'response', { value: response, enumerable: false }) as WithResponse<Body>;
}
