import { test } from 'vitest';

/**
 * Ends what the test files of one worker process share when the worker ends. After a crash of the worker `endLeftovers`
 * does so.
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

/** Called at the top of each file that uses shared things: vitest only ends fixtures that a file uses. */
export function useWorker(): void {
  worker.beforeAll(({ kept }) => void kept);
}
