import { parseJson } from '../../domain/parse-json.ts';
import { AttemptTimer, noResponseMessage } from '../../sdk/attempt.ts';
import { ConnectionFailure, UnexpectedResponse } from '../../sdk/client.ts';
import { errorFor, moneyMovedBy, type ReceivedRecord } from '../../sdk/error.ts';
import { type Called, RefusedCall } from './tool.ts';

/** The time limit of a request. A client of the protocol waits a minute for a tool, and the SDK may send a request three times. */
export const TIMEOUT_MILLISECONDS = 15_000;

export type PlainRequest = {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
};

export type PlainResponse = { readonly type: string; readonly text: string };

const NO_MONEY = { moneyMoved: 'no', idempotencyKey: undefined, attempts: 1 } as const;

/**
 * Sends a request that is no call of the SDK: for a page, or with a header that the SDK does not have.
 *
 * @throws {TransferServiceError} if the service refuses it
 * @throws {ConnectionFailure} if there is no response
 * @throws {UnexpectedResponse} if something other than the service responded
 */
export async function sendPlain({ url }: Called, request: PlainRequest): Promise<PlainResponse> {
  const { method = 'GET', path, headers = {}, body, signal } = request;
  const timer = new AttemptTimer(signal, TIMEOUT_MILLISECONDS);
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
      signal: timer.signal,
      redirect: 'manual',
    });
    const text = await response.text();
    if (response.ok) return { type: response.headers.get('content-type') ?? '', text };
    throw failureOf(response, text);
  } catch (cause) {
    if (!(cause instanceof TypeError) && !timer.signal.aborted) throw cause;
    const none = timer.noResponse(cause);
    const message = noResponseMessage(none, { baseUrl: url, timeoutMilliseconds: TIMEOUT_MILLISECONDS });
    throw new ConnectionFailure(message, { ...NO_MONEY, reason: none.reason, baseUrl: url, cause });
  } finally {
    timer.end();
  }
}

function failureOf({ status, headers }: Response, text: string): Error {
  const record = readRecord(text);
  if (record !== undefined)
    return errorFor(record, headers, { ...NO_MONEY, moneyMoved: moneyMovedBy(false, headers, record.Code) });
  const message = `A response with status ${status} is not from the service.`;
  return new UnexpectedResponse(message, { status, headers, excerpt: text.slice(0, 200) }, NO_MONEY);
}

/** Returns the error record in a body, or undefined if there is none. */
function readRecord(text: string): ReceivedRecord | undefined {
  try {
    const record = Object(parseJson(text)) as Partial<ReceivedRecord>;
    const isRecord = typeof record.Message === 'string' && typeof record.Code === 'string';
    return isRecord ? (record as ReceivedRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the mode of the service, from its first page, which needs no key. */
export async function readMode(called: Called, signal: AbortSignal): Promise<'sandbox' | 'live'> {
  const { text } = await sendPlain(called, { path: '/', headers: { Accept: 'application/json' }, signal });
  const { service, mode } = Object(readJson(text)) as { readonly service?: unknown; readonly mode?: unknown };
  if (service === 'transfer-service' && (mode === 'sandbox' || mode === 'live')) return mode;
  const response = { status: 200, headers: new Headers(), excerpt: text.slice(0, 200) };
  throw new UnexpectedResponse(`Something other than Transfer Service responds at ${called.url}.`, response, NO_MONEY);
}

function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** The message about a live service, for tools that change something and for `--write`. */
export const REFUSED_LIVE =
  'The service is live, and the tools that change something run only in a sandbox. Use the console or the command line to move real money.';

/**
 * Throws RefusedCall if the service is live. Every call asks the service, because the URL can lead to a different service than at
 * the start, and because a live service ignores the header that provokes errors and would carry out the request.
 */
export async function refuseLive(called: Called, signal: AbortSignal): Promise<void> {
  if ((await readMode(called, signal)) === 'live') throw new RefusedCall(REFUSED_LIVE);
}
