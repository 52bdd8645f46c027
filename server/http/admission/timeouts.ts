import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import type { RequestContext } from '../request-context.ts';
import type { HttpService } from '../service.ts';
import { respondToParserError } from '../wire/node-errors.ts';

/** An operation that has not answered by its deadline, or that the closing server no longer waits for. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';
}

/**
 * Waits for a step no longer than `maxMilliseconds`, so that no fault elsewhere leaves a caller waiting. The server looks for
 * those that are overdue ({@link abandonOverdue}): a timer for each request would cost more than its decision.
 */
export function withTimeout<Value>(
  context: RequestContext,
  maxMilliseconds: number,
  step: Promise<Value>,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    context.waitingSince = performance.now();
    context.timesOutAt = context.waitingSince + maxMilliseconds;
    context.abandon = reject;
    step.then(
      (value) => {
        context.abandon = undefined;
        resolve(value);
      },
      (error) => {
        context.abandon = undefined;
        reject(error);
      },
    );
  });
}

/**
 * How many of the steps that are waited for have taken longer than `lateAfterMilliseconds`. Exports do not count: they wait for their
 * turn and for their readers, so that they are late says nothing of how the others fare.
 */
export function countLateRequests(active: ReadonlySet<RequestContext>, lateAfterMilliseconds: number): number {
  const now = performance.now();
  let late = 0;
  for (const { abandon, waitingSince, isExport } of active)
    if (abandon !== undefined && !isExport && now - waitingSince > lateAfterMilliseconds) late += 1;
  return late;
}

/** How many answers were written whole and wait for their callers to take them. */
export function countUnreadResponses(active: ReadonlySet<RequestContext>): number {
  let unreadResponses = 0;
  for (const { response } of active) if (isUnread(response)) unreadResponses += 1;
  return unreadResponses;
}

function isUnread({ writableEnded, writableFinished }: RequestContext['response']): boolean {
  return writableEnded && !writableFinished;
}

/**
 * Gives up the waits whose time is over, and cuts off callers who have not taken a whole answer `readTimeoutMilliseconds` after it
 * was written: each holds its answer for as long as it likes.
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

/*
 * Time limits of connections, for a process that was stopped or starved for longer than they are. Timers run before
 * sockets are read, so a request that has long arrived looks as if it had never come. Whatever has arrived is read before
 * a connection is closed.
 */

/** Turns of the event loop in which whatever has arrived is read; one does for up to a thousand connections. */
const MAX_TURNS = 3;

/** Closes a connection that was kept for a next request, unless one has arrived. */
export async function closeIdleConnection(service: HttpService, socket: Duplex): Promise<void> {
  const connection = service.connections.of(socket);
  if (connection === undefined) {
    socket.destroy();
    return;
  }
  // Node restarts the time limit whenever bytes arrive.
  if (await hasRead(connection)) return;
  if (!connection.busy) connection.end(service.settings.lingerMilliseconds);
}

/**
 * Refuses a request that has not arrived whole in time. Where some of it had arrived and was only not read, it gets the
 * time for a head once more, and no longer, so that a caller who sends a byte now and then gains nothing.
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
  respondToParserError(service, error, socket);
}

/** Whether bytes had arrived on a connection that were not read yet; they are read now. */
async function hasRead({ socket }: { readonly socket: { readonly bytesRead: number } }): Promise<boolean> {
  const { bytesRead } = socket;
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    await new Promise((next) => setImmediate(next));
    if (socket.bytesRead > bytesRead) return true;
  }
  return false;
}
