import type { TextChunks } from './call.ts';
import type { NoResponseReason } from './error.ts';

/** The reason why there is no response, or only part of one. */
export type NoResponse = {
  readonly reason: NoResponseReason;
  /** Whether the service may have received the request. */
  readonly mayHaveArrived: boolean;
  readonly cause: unknown;
};

type Target = { readonly baseUrl: string; readonly timeoutMilliseconds: number };

/** Aborts one attempt when the caller aborts the call, or when the service takes too long. */
export class AttemptTimer {
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal | undefined;
  readonly #timeoutMilliseconds: number;
  readonly #abort = () => this.#controller.abort();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timedOut = false;

  constructor(callerSignal: AbortSignal | undefined, timeoutMilliseconds: number) {
    this.#callerSignal = callerSignal;
    this.#timeoutMilliseconds = timeoutMilliseconds;
    callerSignal?.addEventListener('abort', this.#abort);
    this.start();
  }

  /** Aborts the attempt's request. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the timer again when the client begins to wait for the service. The default is the full time. */
  start(timeoutMilliseconds = this.#timeoutMilliseconds): void {
    this.pause();
    this.#timer = setTimeout(() => {
      this.#timedOut = true;
      this.#controller.abort();
    }, timeoutMilliseconds);
  }

  /** Stops the timer while the reader of the response is busy. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** Releases the timer and the listener. */
  end(): void {
    this.pause();
    this.#callerSignal?.removeEventListener('abort', this.#abort);
  }

  /** Returns the reason why an attempt that threw `cause` got no response. */
  noResponse(cause: unknown): NoResponse {
    const signal = this.#callerSignal;
    if (signal?.aborted) return { reason: 'aborted', mayHaveArrived: true, cause: signal.reason };
    if (this.#timedOut) return { reason: 'timeout', mayHaveArrived: true, cause };
    const connected = !neverConnected(cause);
    return { reason: connected ? 'lost' : 'unreachable', mayHaveArrived: connected, cause };
  }
}

/** Returns the message for a missing response. */
export function noResponseMessage({ reason, cause }: NoResponse, { baseUrl, timeoutMilliseconds }: Target): string {
  switch (reason) {
    case 'unreachable':
      return `The service cannot be reached at ${baseUrl}${detailOf(cause)}.`;
    case 'lost':
      return `The connection to ${baseUrl} failed before the response was complete${detailOf(cause)}.`;
    case 'timeout':
      return `There was no response from ${baseUrl} within ${timeoutMilliseconds} ms.`;
    case 'aborted':
      return 'The call was aborted before there was a response.';
  }
}

/** Returns the message for a response that was cut off. */
export function incompleteMessage(cut: NoResponse, target: Target): string {
  return `${cutMessage(cut, target)} The response is incomplete.`;
}

/** Returns a sentence that says how the response was cut off. */
export function cutMessage({ reason, cause }: NoResponse, { baseUrl, timeoutMilliseconds }: Target): string {
  switch (reason) {
    case 'unreachable':
    case 'lost':
      return `The connection to ${baseUrl} failed during the response${detailOf(cause)}.`;
    case 'timeout':
      return `${baseUrl} sent nothing for ${timeoutMilliseconds} ms during the response.`;
    case 'aborted':
      return 'The call was aborted during the response.';
  }
}

/** Codes for certificates that Node rejects before anything is sent. */
const REJECTED_CERTIFICATE =
  /^(?:CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH$|INVALID_CA$|ERR_TLS_CERT_ALTNAME_INVALID$)/;

/**
 * Whether an error shows that no connection was established. Node reports this in the cause of the error. Browsers never report
 * it.
 */
export function neverConnected(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  if (typeof cause !== 'object' || cause === null) return false;
  const { code, syscall } = cause as { code?: unknown; syscall?: unknown };
  if (syscall === 'connect' || syscall === 'getaddrinfo') return true;
  if (code === 'ECONNREFUSED' || code === 'UND_ERR_CONNECT_TIMEOUT') return true;
  return typeof code === 'string' && REJECTED_CERTIFICATE.test(code);
}

/** Returns the reason for a connection failure, in parentheses, or an empty string if there is none to show. */
export function detailOf(cause: unknown): string {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  if (!(inner instanceof Error)) return '';
  // An error about several addresses has a code but no message.
  const detail = inner.message === '' ? (inner as { code?: unknown }).code : inner.message;
  // Messages of OpenSSL end with a line break.
  return typeof detail === 'string' ? ` (${detail.trim()})` : '';
}

/**
 * Starts to read a body, and resolves when its first chunk has arrived. A response that is cut off before that rejects
 * here, while a retry is still possible. `failure` makes the error for a response that is cut off later.
 */
export async function beginText(
  body: ReadableStream<Uint8Array> | null,
  timer: AttemptTimer,
  failure: (cause: unknown) => Error,
): Promise<TextChunks> {
  const chunks = readText(body, timer);
  const first = await chunks.next();
  return withFailure(first, chunks, failure);
}

async function* readText(body: ReadableStream<Uint8Array> | null, timer: AttemptTimer): TextChunks {
  // Fatal, because half a character at the end means that the response was cut off.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const reader = body?.getReader();
  try {
    let isDone = reader === undefined;
    while (!isDone) {
      timer.start();
      const chunk = await reader?.read();
      timer.pause();
      isDone = chunk?.done ?? true;
      const text = decoder.decode(chunk?.value, { stream: !isDone });
      if (text !== '') yield text;
    }
  } finally {
    timer.end();
    // Rejects if the body has failed, which is already reported.
    await reader?.cancel().catch(() => undefined);
  }
}

async function* withFailure(
  first: IteratorResult<string, void>,
  chunks: TextChunks,
  failure: (cause: unknown) => Error,
): TextChunks {
  try {
    if (!first.done) yield first.value;
    yield* chunks;
  } catch (cause) {
    throw failure(cause);
  } finally {
    await chunks.return();
  }
}
