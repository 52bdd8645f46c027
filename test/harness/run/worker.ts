import { test } from 'vitest';

/**
 * What the test files of one worker process share, so that each of them does not start it anew: it ends with the worker.
 * What a worker leaves that crashed is ended by `endLeftovers`.
 */
const endings: (() => Promise<unknown>)[] = [];

const worker = test
  .extend('all', { scope: 'worker' }, () => endings)
  .extend('kept', { scope: 'worker' }, async ({ all }, { onCleanup }) => {
    onCleanup(async () => {
      for (const end of all.splice(0).reverse()) await end();
    });
    return all;
  });

/** Called at the top of a file, or while a hook of it runs; `end` is called when the last file of the worker is over. */
export function endWithWorker(end: () => Promise<unknown>): void {
  endings.push(end);
}

/** Called at the top of each file that uses what is kept: vitest ends only what some file has asked for. */
export function useWorker(): void {
  worker.beforeAll(({ kept }) => void kept);
}
