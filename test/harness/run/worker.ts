import { test } from 'vitest';

/**
 * Functions that end the shared resources of a worker's test files when the worker ends. If the worker crashes,
 * `endLeftovers` cleans up instead.
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

/** Registers `end` to run after the worker's last file. Call it at the top of a file or in one of its hooks. */
export function endWithWorker(end: () => Promise<unknown>): void {
  endings.push(end);
}

/**
 * Ensures that the worker ends its shared resources. Call this at the top of each file that uses shared resources,
 * because vitest only ends fixtures that a file uses.
 */
export function useWorker(): void {
  worker.beforeAll(({ kept }) => void kept);
}
