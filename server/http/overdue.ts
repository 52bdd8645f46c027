import { performance } from 'node:perf_hooks';
import type { Exchange } from './exchange.ts';

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
    exchange.overdueAt = performance.now() + most_ms;
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

/** Gives up the waits whose time is over. */
export function giveUpOverdue(active: ReadonlySet<Exchange>): void {
  const now = performance.now();
  for (const exchange of active) {
    if (exchange.overdueAt <= now) exchange.giveUp?.(new NoAnswer('There was no answer in time.'));
  }
}
