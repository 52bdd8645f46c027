import { performance } from 'node:perf_hooks';
import type { Exchange } from '../exchange.ts';

/** An operation that has not answered by its deadline, or that the closing server no longer waits for. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/**
 * Waits for a step no longer than `most_ms`, so that no fault elsewhere leaves a caller waiting. The server looks for
 * those that are overdue ({@link giveUpOverdue}): a timer for each request would cost more than its decision.
 */
export function within<Value>(exchange: Exchange, most_ms: number, step: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    exchange.waitsSince = performance.now();
    exchange.overdueAt = exchange.waitsSince + most_ms;
    exchange.giveUp = reject;
    step.then(
      (value) => {
        exchange.giveUp = undefined;
        resolve(value);
      },
      (error) => {
        exchange.giveUp = undefined;
        reject(error);
      },
    );
  });
}

/**
 * How many of the steps that are waited for have taken longer than `long_ms`. Exports do not count: they wait for their
 * turn and for their readers, so that they are late says nothing of how the others fare.
 */
export function countLate(active: ReadonlySet<Exchange>, long_ms: number): number {
  const now = performance.now();
  let late = 0;
  for (const { giveUp, waitsSince, isExport } of active)
    if (giveUp !== undefined && !isExport && now - waitsSince > long_ms) late += 1;
  return late;
}

/** How many answers were written whole and wait for their callers to take them. */
export function countUntaken(active: ReadonlySet<Exchange>): number {
  let untaken = 0;
  for (const { response } of active) if (isUntaken(response)) untaken += 1;
  return untaken;
}

function isUntaken({ writableEnded, writableFinished }: Exchange['response']): boolean {
  return writableEnded && !writableFinished;
}

/**
 * Gives up the waits whose time is over, and cuts off callers who have not taken a whole answer `takeWithin_ms` after it
 * was written: each holds its answer for as long as it likes.
 */
export function giveUpOverdue(active: ReadonlySet<Exchange>, takeWithin_ms: number): void {
  const now = performance.now();
  for (const exchange of active) {
    if (exchange.overdueAt <= now) exchange.giveUp?.(new NoAnswer('There was no answer in time.'));
    const { response, connection } = exchange;
    if (!isUntaken(response)) continue;
    exchange.writtenAt ??= now;
    if (now - exchange.writtenAt > takeWithin_ms) connection.socket.destroy();
  }
}
