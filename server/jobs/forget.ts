import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Statement } from '../store/connection/database.ts';
import { forgetBodies, forgetRefusedKeys } from '../store/idempotency.ts';
import { forgetCounters } from '../store/ledger/limits.ts';

/** Rows in one statement: few enough to be done well within its time limit. */
const PORTION = 1000;

/**
 * The rest after a portion, as a multiple of the time that it took: so one connection is busy for a fifth of the time,
 * and transfers hardly notice, however much there is to remove after an upgrade.
 */
const REST_FACTOR = 4;

/**
 * Removes what is old and nobody reads: refused idempotency keys, the bodies of first answers, and counters of limits.
 * In small portions, one transaction each, so that no request ever waits for it. Several processes may do so at once.
 * Gives the number of rows; ends early, without an error, when `signal` is aborted.
 */
export async function forget(database: Database, signal?: AbortSignal): Promise<number> {
  let all = 0;
  for (const statement of [forgetRefusedKeys, forgetBodies, forgetCounters]) {
    all += await forgetAll(database, statement, signal);
  }
  return all;
}

async function forgetAll(
  database: Database,
  statement: (count: number) => Statement,
  signal: AbortSignal | undefined,
): Promise<number> {
  let all = 0;
  while (signal?.aborted !== true) {
    const begun = performance.now();
    const [row] = await database.read(statement(PORTION));
    const forgotten = Number(row?.forgotten ?? 0);
    all += forgotten;
    if (forgotten < PORTION) break;
    await sleep((performance.now() - begun) * REST_FACTOR, undefined, { ref: false, ...(signal && { signal }) }).catch(
      () => undefined,
    );
  }
  return all;
}
