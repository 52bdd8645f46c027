import { AttemptTimer, cutMessage, type NoResponse } from './attempt.ts';
import { ConnectionFailure, UnexpectedResponse } from './error.ts';
import { EventStreamParser, type StreamMessage } from './event-stream-parser.ts';
import { type Failure, isSuccess, type ResponseHead, readRecord } from './outcome.ts';
import type { PreparedRequest } from './request.ts';
import type { ClientSettings } from './settings.ts';

/** A stream of events that has begun. */
export type EventConnection = {
  readonly kind: 'stream';
  /** Returns the next messages or, if the stream has ended, the reason. Never rejects. */
  readonly read: () => Promise<readonly StreamMessage[] | ConnectionFailure>;
  readonly close: () => Promise<void>;
  /** Returns the error for a message that does not conform to the contract. */
  readonly unexpected: (what: string, excerpt: string) => UnexpectedResponse;
};

/** The facts that every failure of a stream has: reading moves no money. */
const READING = { moneyMoved: 'no', idempotencyKey: undefined, attempts: 1 } as const;

/**
 * Sends the request for a stream. Resolves to the stream or to the failure. The stream counts as lost when nothing arrives
 * for `maxSilenceMilliseconds`.
 */
export async function openEventStream(
  settings: ClientSettings,
  request: PreparedRequest,
  maxSilenceMilliseconds: number,
): Promise<EventConnection | Failure> {
  const { signal } = request;
  if (signal?.aborted) return { kind: 'no response', reason: 'aborted', mayHaveArrived: false, cause: signal.reason };
  const timer = new AttemptTimer(signal, request.timeoutMilliseconds);
  let isStream = false;
  // Called as a plain function, because a browser's fetch throws when it is called as a method of another object.
  const { fetch } = settings;
  try {
    const { url, method } = request;
    const headers = new Headers(request.headers);
    const response = await fetch(url, { method, headers, signal: timer.signal, redirect: 'manual' });
    if (response.body === null || !isEventStream(response)) {
      return readRecord(request, response.status, response.headers, await response.text()) as Failure;
    }
    isStream = true;
    timer.pause();
    return connectionOf(response, response.body.getReader(), timer, {
      ...settings,
      timeoutMilliseconds: maxSilenceMilliseconds,
    });
  } catch (cause) {
    return { kind: 'no response', ...timer.noResponse(cause) };
  } finally {
    if (!isStream) timer.end();
  }
}

function isEventStream({ status, headers }: ResponseHead): boolean {
  return isSuccess(status) && /^text\/event-stream\b/i.test(headers.get('content-type') ?? '');
}

function connectionOf(
  { status, headers }: ResponseHead,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  timer: AttemptTimer,
  target: { readonly baseUrl: string; readonly timeoutMilliseconds: number },
): EventConnection {
  const parser = new EventStreamParser();
  const failure = (message: string, { reason, cause }: Pick<NoResponse, 'reason' | 'cause'>) =>
    new ConnectionFailure(message, { ...READING, reason, cause, baseUrl: target.baseUrl });
  return {
    kind: 'stream',
    read: async () => {
      timer.start(target.timeoutMilliseconds);
      try {
        const { done, value } = await reader.read();
        if (done) return failure(`${target.baseUrl} ended the stream.`, { reason: 'lost', cause: undefined });
        return parser.read(value);
      } catch (cause) {
        const cut = timer.noResponse(cause);
        return failure(cutMessage(cut, target), cut);
      } finally {
        timer.pause();
      }
    },
    close: async () => {
      timer.end();
      // Rejects if the body has failed, which is already reported.
      await reader.cancel().catch(() => undefined);
    },
    unexpected: (what, excerpt) =>
      new UnexpectedResponse(
        `${target.baseUrl} sent ${what} in a stream of events. Is there a proxy in between?`,
        { status, headers, excerpt: excerpt.slice(0, 200) },
        READING,
      ),
  };
}
