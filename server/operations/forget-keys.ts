import type { Database, Statement } from '../store/database.ts';
import { forgetBodies, forgetRefusedKeys } from '../store/idempotency.ts';

/** Rows in one statement: few enough to be done well within its time limit. */
const PORTION = 1000;

/**
 * Forgets what idempotency keys need not remember any more: refused keys, and the letter of first answers. In small
 * portions, one transaction each, so that no request ever waits for it. Several processes may do so at once.
 */
export async function forgetKeys(database: Database): Promise<number> {
  return (await forgetAll(database, forgetRefusedKeys)) + (await forgetAll(database, forgetBodies));
}

async function forgetAll(database: Database, forget: (count: number) => Statement): Promise<number> {
  let all = 0;
  for (;;) {
    const [row] = await database.read(forget(PORTION));
    const forgotten = Number(row?.forgotten ?? 0);
    all += forgotten;
    if (forgotten < PORTION) return all;
  }
}
