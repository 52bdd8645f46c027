import { AttemptTimer, cutMessage, type NoResponse } from './attempt.ts';
import { backoffMilliseconds, jitteredBackoff, pause } from './backoff.ts';
import { ConnectionFailure, InvalidArgument, readRetryAfter, UnexpectedResponse } from './error.ts';
import type { EventType, TransferServiceEvent } from './generated/operations.ts';
import { parseJson } from './generated/parse-json.ts';
import { type Failure, failureOf, isSuccess, type ResponseHead, readRecord } from './outcome.ts';
import { type PreparedRequest, prepareRequest } from './request.ts';
import type { ClientSettings } from './settings.ts';

// Invariant: A stream of the SDK and `events listen` return every event once and in order, across restarts
// Kept by: they continue after the last position, and a gap throws
// Tested by: `test/sdk/event-restarts.test.ts`, `test/cli/listen.test.ts`

type GroupOf<Type extends string> = Type extends `${infer Subject}.${string}` ? `${Subject}.*` : never;

/** A type of event, or all types of a subject, such as `transfer.*`. */
export type EventTypeOrGroup = EventType | GroupOf<EventType>;

/** Options of a stream of events. */
export type EventStreamOptions = {
  /**
   * The start of the stream: the position of the last event that you have processed, or 0 for all stored events. If
   * omitted, the stream begins with the next event after the loop starts.
   */
  readonly after?: number | undefined;
  /** Only events of these types, such as `transfer.completed`, or `transfer.*` for all transfer events. */
  readonly types?: readonly EventTypeOrGroup[] | undefined;
  /** Only events about this subject, such as a transfer. */
  readonly subjectId?: string | undefined;
  /** The card program to read, instead of the client's. Required for operator keys. */
  readonly programId?: string | undefined;
  /** Aborting this signal ends the loop, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** Called after the connection was lost and before the client connects again, for your log. */
  readonly onRetry?: ((retry: StreamRetry) => void) | undefined;
};

/** An event, and its JSON text as the service sent it. */
export type ReceivedEvent<Event> = {
  readonly event: Event;
  /** JSON, byte for byte as the service sends it to webhooks. Serializing `event` again can produce different bytes. */
  readonly text: string;
};

/** A connection that was lost or could not be established. */
export type StreamRetry = {
  /** A ConnectionFailure, a TransferServiceError or an UnexpectedResponse. */
  readonly error: Error;
  /** The stream continues after this position. */
  readonly position: number;
  /** How long the client waits before it connects again. */
  readonly waitMilliseconds: number;
};

/**
 * An event is missing in the stream. This never happens unless the service or its database is faulty. The stream ends, so
 * that you notice the loss. Begin again after `after` to look for the event, or after `received - 1` to skip it.
 */
export class EventGap extends Error {
  /** The position of the last event before the gap. */
  readonly after: number;
  /** The position of the event after the gap. */
  readonly received: number;

  constructor(after: number, received: number) {
    super(`Events are missing: the service sent the event ${received} after the event ${after}.`);
    this.after = after;
    this.received = received;
  }

  override get name(): string {
    return 'EventGap';
  }
}

type EventSource = {
  readonly operation: 'list_events' | 'search_events';
  /** The position after which the stream starts. */
  readonly position: number;
  /** Whether positions have no gaps in a stream without a filter. */
  readonly isContiguous: boolean;
};

/** The service sends a comment after 15 seconds without an event. This allows for two late comments. */
const MAX_SILENCE_MILLISECONDS = 45_000;
/** After a connection that lasted longer than this, the backoff begins again with its shortest wait. */
const GOOD_CONNECTION_MILLISECONDS = 5_000;
/** Longer than any Retry-After of the service. If a proxy asks for an hour, the client tries again sooner. */
const MAX_RETRY_AFTER_SECONDS = 60;

type Progress = {
  position: number;
  /** Consecutive failed attempts. */
  failures: number;
};

/**
 * Reads events one after another, in order. When the connection is lost, it connects again and continues after the last
 * event, no matter how long that takes. The first connection is retried only as often as any call. Throws errors that a
 * retry cannot resolve: a refused key, events that are no longer stored, a gap.
 */
export async function* streamEvents<Event extends TransferServiceEvent>(
  settings: ClientSettings,
  source: EventSource,
  options: EventStreamOptions,
  maxSilenceMilliseconds = MAX_SILENCE_MILLISECONDS,
): AsyncGenerator<ReceivedEvent<Event>, void, undefined> {
  const { signal, onRetry } = options;
  const filter = filterOf(source, options);
  const progress: Progress = { position: source.position, failures: 0 };
  let wasConnected = false;
  for (;;) {
    const call = { query: { ...filter.query, after: progress.position }, options };
    const request = prepareRequest(settings, source.operation, call, true);
    const opened = await openEventStream(settings, request, maxSilenceMilliseconds);
    const ended = opened.kind === 'stream' ? yield* readEvents<Event>(opened, filter, progress, signal) : opened;
    if (signal?.aborted) return;
    wasConnected ||= opened.kind === 'stream';
    progress.failures += 1;
    const attempts = progress.failures;
    const error =
      ended instanceof Error
        ? ended
        : failureOf(ended, request, settings, { moneyMoved: 'no', idempotencyKey: undefined, attempts });
    const waitMilliseconds = wasConnected
      ? waitAfter(ended, attempts)
      : firstWaitAfter(ended as Failure, request, attempts, settings.maxRetries);
    if (waitMilliseconds === undefined) throw error;
    onRetry?.({ error, position: progress.position, waitMilliseconds });
    await pause(waitMilliseconds, signal);
    if (signal?.aborted) return;
  }
}

/** Yields the events of one connection, and returns how it ended. */
async function* readEvents<Event extends TransferServiceEvent>(
  connection: EventConnection,
  filter: Filter,
  progress: Progress,
  signal: AbortSignal | undefined,
): AsyncGenerator<ReceivedEvent<Event>, ConnectionFailure, undefined> {
  const since = performance.now();
  try {
    for (;;) {
      const messages = await connection.read();
      if (performance.now() - since > GOOD_CONNECTION_MILLISECONDS) progress.failures = 0;
      if (messages instanceof Error) return messages;
      for (const message of messages) {
        const next = positionOf(message, connection);
        // Skips an event that was read before the connection was lost.
        if (next <= progress.position) continue;
        // A message without data means that the filter left out all events up to this position.
        if (message.data === undefined) {
          if (!filter.isContiguous) progress.position = next;
          continue;
        }
        if (next !== progress.position + 1 && filter.isContiguous) throw new EventGap(progress.position, next);
        const event = eventOf<Event>(message.data, connection);
        progress.position = next;
        progress.failures = 0;
        if (!signal?.aborted) yield { event, text: message.data };
      }
    }
  } finally {
    await connection.close();
  }
}

/** The query that selects events, and whether the selected events have positions without gaps. */
type Filter = {
  readonly query: Readonly<Record<string, string>>;
  readonly isContiguous: boolean;
};

function filterOf(
  { operation, isContiguous }: EventSource,
  { types, subjectId, programId }: EventStreamOptions,
): Filter {
  if (types?.length === 0) throw new InvalidArgument('types is empty: omit it to read events of all types.');
  const query: Record<string, string> = {};
  if (types) query.type = types.join(',');
  if (subjectId !== undefined) query.subject_id = subjectId;
  const isFiltered = Object.keys(query).length > 0;
  if (operation === 'search_events' && programId !== undefined) query.program_id = programId;
  return { query, isContiguous: isContiguous && !isFiltered };
}

function positionOf({ id = '' }: StreamMessage, connection: EventConnection): number {
  if (!/^[0-9]{1,15}$/.test(id)) throw connection.unexpected('an event without a position', id);
  return Number(id);
}

function eventOf<Event>(data: string, connection: EventConnection): Event {
  try {
    return parseJson(data) as Event;
  } catch {
    throw connection.unexpected('an event that is not JSON', data);
  }
}

/** Returns how long to wait before the first connection is tried again, or undefined if it must not be. */
function firstWaitAfter(outcome: Failure, request: PreparedRequest, attempts: number, maxRetries: number) {
  return attempts > maxRetries ? undefined : backoffMilliseconds(outcome, request, attempts);
}

/** Returns how long to wait before the client connects again, or undefined if it must not. */
function waitAfter(ended: ConnectionFailure | Failure, attempts: number): number | undefined {
  const backoff = jitteredBackoff(attempts);
  if (ended instanceof Error || ended.kind === 'no response') return backoff;
  const { kind, status, headers } = ended;
  // A response that is not an error record comes from a proxy, for example while the service restarts.
  const canChange = kind === 'unexpected' || status >= 500 || status === 429 || headers.get('should-retry') === 'true';
  if (!canChange) return undefined;
  return Math.max(backoff, Math.min(readRetryAfter(headers) ?? 0, MAX_RETRY_AFTER_SECONDS) * 1000);
}

/** A stream of events that has begun. */
type EventConnection = {
  readonly kind: 'stream';
  /** Returns the next messages or, if the stream has ended, the reason. Never rejects. */
  readonly read: () => Promise<readonly StreamMessage[] | ConnectionFailure>;
  readonly close: () => Promise<void>;
  /** Returns the error for a message that does not conform to the contract. */
  readonly unexpected: (what: string, excerpt: string) => UnexpectedResponse;
};

/** Every failure of a stream reports these facts. Reading moves no money. */
const READING = { moneyMoved: 'no', idempotencyKey: undefined, attempts: 1 } as const;

/**
 * Sends the request for a stream. Resolves to the stream or to the failure. The stream counts as lost when nothing arrives
 * for `maxSilenceMilliseconds`.
 */
async function openEventStream(
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

/** A message of an event stream. */
export type StreamMessage = {
  /** The last id that the stream has sent, with this message or an earlier one. Undefined if it has sent none. */
  readonly id: string | undefined;
  /** The name of the event, or `message` if it has none. */
  readonly event: string;
  /** Undefined for a message that only sets the id. */
  readonly data: string | undefined;
};

/** Longer than any event. Keeps a response that is not an event stream from filling the memory. */
const MAX_MESSAGE_CHARACTERS = 1_000_000;

/**
 * Reads an event stream (HTML standard, section 9.2.6), in chunks that can begin and end anywhere, even within a character
 * or a line end. An incomplete message at the end of the stream is not returned.
 *
 * The platform's `EventSource` is not used. It sends no Authorization header, hides the status and the body of a refusal,
 * does not report a silent connection, and is missing in Node by default.
 */
export class EventStreamParser {
  // Removes a byte order mark at the beginning. Fatal, because replacing an invalid character would change the event.
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #rest = '';
  #skipsLineFeed = false;
  #id: string | undefined;
  #hasId = false;
  #event = '';
  #data: string[] = [];
  #characters = 0;

  /**
   * Returns the messages that this chunk completes. Throws if it is not UTF-8, or if a message is longer than any event.
   */
  read(chunk: Uint8Array): readonly StreamMessage[] {
    let text = this.#decoder.decode(chunk, { stream: true });
    if (text === '') return [];
    // A carriage return at the end of a chunk has ended its line. A line feed after it belongs to the same line end.
    if (this.#skipsLineFeed && text.startsWith('\n')) text = text.slice(1);
    this.#skipsLineFeed = text.endsWith('\r');
    const lines = (this.#rest + text).split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? '';
    const messages = lines.flatMap((line) => this.#readLine(line) ?? []);
    if (this.#rest.length + this.#characters > MAX_MESSAGE_CHARACTERS)
      throw new Error('A message of the stream is too long.');
    return messages;
  }

  #readLine(line: string): StreamMessage | undefined {
    if (line === '') return this.#complete();
    const colon = line.indexOf(':');
    // A comment, which only shows that the connection is alive.
    if (colon === 0) return undefined;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (name === 'data') {
      this.#data.push(value);
      this.#characters += value.length;
    }
    if (name === 'event') this.#event = value;
    if (name === 'id' && !value.includes('\0')) {
      this.#id = value;
      this.#hasId = true;
    }
    return undefined;
  }

  #complete(): StreamMessage | undefined {
    const data = this.#data.length === 0 ? undefined : this.#data.join('\n');
    const message = { id: this.#id, event: this.#event === '' ? 'message' : this.#event, data };
    const isMessage = data !== undefined || this.#hasId;
    this.#data = [];
    this.#event = '';
    this.#hasId = false;
    this.#characters = 0;
    return isMessage ? message : undefined;
  }
}
