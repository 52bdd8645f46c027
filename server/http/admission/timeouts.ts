import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import type { RequestContext } from '../request-context.ts';
import type { HttpService } from '../service.ts';
import { respondToParserError } from '../wire/node-errors.ts';

/** An operation did not finish before its deadline, or the server is closing and no longer waits for it. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';
}

/**
 * Marks a request as waiting, for at most `maxMilliseconds`. The server checks all requests at intervals ({@link abandonOverdue}),
 * because a timer for each request would be expensive.
 */
export function beginWaiting(context: RequestContext, maxMilliseconds: number, abandon: (reason: Error) => void): void {
  context.waitingSince = performance.now();
  context.timesOutAt = context.waitingSince + maxMilliseconds;
  context.abandon = abandon;
}

/** Marks a request as no longer waiting. Returns false if it was abandoned, and therefore already has a response. */
export function endWaiting(context: RequestContext): boolean {
  context.abandon = undefined;
  return !context.isAbandoned;
}

/** Waits for a step of a request. Rejects when the request is abandoned. */
export function withTimeout<Value>(
  context: RequestContext,
  maxMilliseconds: number,
  step: Promise<Value>,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    beginWaiting(context, maxMilliseconds, reject);
    step.then(
      (value) => {
        endWaiting(context);
        resolve(value);
      },
      (error) => {
        endWaiting(context);
        reject(error);
      },
    );
  });
}

/**
 * Counts the requests that have waited longer than `lateAfterMilliseconds`. Streams do not count, because they wait for their
 * readers.
 */
export function countLateRequests(active: ReadonlySet<RequestContext>, lateAfterMilliseconds: number): number {
  const now = performance.now();
  let late = 0;
  for (const { abandon, waitingSince, isStreamed } of active)
    if (abandon !== undefined && !isStreamed && now - waitingSince > lateAfterMilliseconds) late += 1;
  return late;
}

/** Counts the responses that are complete but that their callers have not read. */
export function countUnreadResponses(active: ReadonlySet<RequestContext>): number {
  let unreadResponses = 0;
  for (const { response } of active) if (isUnread(response)) unreadResponses += 1;
  return unreadResponses;
}

function isUnread({ writableEnded, writableFinished }: RequestContext['response']): boolean {
  return writableEnded && !writableFinished;
}

/**
 * Abandons requests that have timed out, and disconnects callers that have not read a response within `readTimeoutMilliseconds`.
 */
export function abandonOverdue(active: ReadonlySet<RequestContext>, readTimeoutMilliseconds: number): void {
  const now = performance.now();
  for (const context of active) {
    if (context.timesOutAt <= now) context.abandon?.(new NoResponseError('The operation did not finish in time.'));
    const { response, connection } = context;
    if (!isUnread(response)) continue;
    context.writtenAt ??= now;
    if (now - context.writtenAt > readTimeoutMilliseconds) connection.socket.destroy();
  }
}

// Timeouts of connections. After a pause of the process, timers run before sockets are read, so a request that arrived
// in time looks late. Therefore, received input is read before a connection is closed.

/** Number of turns of the event loop for reading received input. One turn is enough for a thousand connections. */
const MAX_TURNS = 3;

/** Closes an idle connection, unless a request has arrived on it. */
export async function closeIdleConnection(service: HttpService, socket: Duplex): Promise<void> {
  const connection = service.connections.of(socket);
  if (connection === undefined) {
    socket.destroy();
    return;
  }
  // Node restarts the time limit when bytes arrive.
  if (await hasRead(connection)) return;
  if (!connection.busy) connection.end(service.settings.lingerMilliseconds);
}

/**
 * Refuses a request that has not arrived completely in time. If received input has not been read yet, the request gets
 * `headTimeoutMilliseconds` more, but only once, so that slow senders gain nothing. A connection without any input has no request,
 * so it is closed without an error. Browsers open such connections in advance.
 */
export async function timeOutRequest(service: HttpService, error: Error, socket: Duplex): Promise<void> {
  const connection = service.connections.of(socket);
  const latest = connection?.latest;
  const wasInBody = latest !== undefined && !latest.request.complete;
  if (connection !== undefined && (await hasRead(connection))) {
    const hasArrived = (): boolean =>
      wasInBody ? latest.request.complete || latest.response.writableEnded : connection.latest !== latest;
    if (hasArrived()) return;
    const timer = setTimeout(() => {
      if (!hasArrived()) respondToParserError(service, error, socket);
    }, service.settings.headTimeoutMilliseconds);
    socket.once('close', () => clearTimeout(timer));
    return;
  }
  if (connection?.socket.bytesRead === 0) {
    connection.end(service.settings.lingerMilliseconds);
    return;
  }
  respondToParserError(service, error, socket);
}

/** Reads the received input of a connection. Returns whether there was any. */
async function hasRead({ socket }: { readonly socket: { readonly bytesRead: number } }): Promise<boolean> {
  const { bytesRead } = socket;
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    await new Promise((next) => setImmediate(next));
    if (socket.bytesRead > bytesRead) return true;
  }
  return false;
}
