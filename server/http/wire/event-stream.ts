import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../../../domain/refusal.ts';
import type { LiveStream } from '../../calls/call.ts';
import type { RequestContext } from '../request-context.ts';
import type { HttpService } from '../service.ts';
import { discardBody } from './body.ts';
import { composeErrorResponse, reportError } from './error-response.ts';
import { noteResponse } from './note-response.ts';
import { writeHead } from './reply.ts';

/** The media type of Server-Sent Events, which are always UTF-8. */
export const EVENT_STREAM = 'text/event-stream';

/** The reasons why the service ends a stream. `signal` aborts when the service stops. `checkKey` throws if the key is invalid. */
export type StreamEnds = { readonly signal: AbortSignal; readonly checkKey: () => void | Promise<void> };

/**
 * Sends a stream of Server-Sent Events until its reader disconnects or reads nothing for some time, its key becomes invalid, or the
 * service stops. The reader resumes after the last `id` that it has read, so no event is lost.
 *
 * While the database fails, the stream stays open, and it later continues from the same position. Reconnecting would not help, and
 * browsers stop retrying if the response to a reconnection is an error.
 */
export async function sendStream(
  service: HttpService,
  context: RequestContext,
  stream: LiveStream,
  ends: StreamEnds,
): Promise<void> {
  const { request, response } = context;
  if (!request.complete) await discardBody(context, service.settings);
  if (context.responded) return;
  // Without this header, nginx holds events back until it has several kilobytes.
  const headers = ['Content-Type', EVENT_STREAM, 'X-Accel-Buffering', 'no'];
  context.isStreamed = true;
  writeHead(service, context, 200, headers, 'no-cache, no-store');
  if (request.method !== 'HEAD') {
    const end = await new StreamSender(service, context, stream, ends).run();
    if (end !== '' && !response.destroyed) response.write(`: ${end}\n\n`);
  }
  if (!response.destroyed) response.end();
  noteResponse(service, context, 200);
}

class StreamSender {
  readonly #service: HttpService;
  readonly #context: RequestContext;
  readonly #stream: LiveStream;
  readonly #ends: StreamEnds;
  #isFailing = false;
  #sentAt = performance.now();

  constructor(service: HttpService, context: RequestContext, stream: LiveStream, ends: StreamEnds) {
    this.#service = service;
    this.#context = context;
    this.#stream = stream;
    this.#ends = ends;
  }

  /** Resolves when the stream ends, to a comment with the reason for the reader. */
  async run(): Promise<string> {
    let text = this.#stream.first;
    while (await this.#send(text)) {
      try {
        text = await this.#next();
        this.#isFailing = false;
      } catch (error) {
        // The stream ends, because another attempt would also be refused. The reader reconnects and gets the error
        // record.
        if (error instanceof Refusal) return error.message.replaceAll(/\s+/g, ' ');
        text = await this.#pauseAfter(error);
      }
    }
    return '';
  }

  /** Reads the next events, or waits for them until a pulse is due. Checks the key before each read. */
  async #next(): Promise<string> {
    const { signal, checkKey } = this.#ends;
    await checkKey();
    const text = await this.#stream.read();
    if (text !== '') return text;
    await this.#stream.forNews(this.#untilPulse(), signal);
    return this.#pulse();
  }

  async #pauseAfter(error: unknown): Promise<string> {
    if (!this.#isFailing) reportError(this.#service, composeErrorResponse(error, this.#context, this.#service).report);
    this.#isFailing = true;
    const { signal } = this.#ends;
    await delay(this.#service.settings.streamRetryMilliseconds, undefined, { signal }).catch(() => undefined);
    return this.#pulse();
  }

  #pulse(): string {
    return this.#untilPulse() > 0 ? '' : this.#stream.pulse();
  }

  #untilPulse(): number {
    return Math.max(0, this.#sentAt + this.#service.settings.streamPulseMilliseconds - performance.now());
  }

  /** Sends text and waits until the reader has received it. Returns false if the stream ends. */
  async #send(text: string): Promise<boolean> {
    const { response, connection } = this.#context;
    const { signal } = this.#ends;
    if (text !== '' && !response.destroyed && !signal.aborted) {
      this.#sentAt = performance.now();
      const { readTimeoutMilliseconds } = this.#service.settings;
      if (!response.write(text) && !(await isDrained(response, readTimeoutMilliseconds, signal))) {
        connection.socket.destroy();
        return false;
      }
    }
    return !response.destroyed && !signal.aborted;
  }
}

/**
 * Resolves to false if the reader does not read the written text in time. If the service stops or the reader disconnects, resolves
 * to true immediately.
 */
function isDrained(response: ServerResponse, milliseconds: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isInTime: boolean): void => {
      clearTimeout(timer);
      response.off('drain', onDrained).off('close', onDrained);
      signal.removeEventListener('abort', onDrained);
      resolve(isInTime);
    };
    const onDrained = (): void => end(true);
    const timer = setTimeout(() => end(false), milliseconds);
    response.on('drain', onDrained).on('close', onDrained);
    signal.addEventListener('abort', onDrained);
  });
}
