import { performance } from 'node:perf_hooks';
import type { RequestContext } from '../request-context.ts';

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
    if (context.timesOutAt <= now) context.abandon?.(new NoResponseError('There was no answer in time.'));
    const { response, connection } = context;
    if (!isUnread(response)) continue;
    context.writtenAt ??= now;
    if (now - context.writtenAt > readTimeoutMilliseconds) connection.socket.destroy();
  }
}
