import { setTimeout as sleep } from 'node:timers/promises';
import { eraseInBatches } from '../cards/erase-in-batches.ts';
import type { Database } from '../store/connection/database.ts';

/** How soon an erasure begins, whichever process was asked for it. */
const INTERVAL_MILLISECONDS = 1_000;

/** The pause after a batch, as a multiple of its duration: the job uses one connection for half of the time. */
const PAUSE_FACTOR = 1;

/**
 * Erases what is stored about the holders of cards while the service runs. `onFailure` is called for the first of several
 * failures in a row. `stop` waits for the batch in progress; the next process goes on from there.
 */
export function startErasingCardHolders(
  database: Database,
  onFailure: (error: unknown) => void,
): { readonly stop: () => Promise<void> } {
  const end = new AbortController();
  let isFailing = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  const fail = (error: unknown): void => {
    if (!isFailing) onFailure(error);
    isFailing = true;
  };
  const pause = async (milliseconds: number): Promise<boolean> => {
    await sleep(milliseconds * PAUSE_FACTOR, undefined, { ref: false, signal: end.signal }).catch(() => undefined);
    return !end.signal.aborted;
  };
  const erase = async (): Promise<void> => {
    try {
      let hasFailed = false;
      const onBatchFailure = (error: unknown): void => {
        hasFailed = true;
        fail(error);
      };
      await eraseInBatches(database, { onFailure: onBatchFailure, pause });
      isFailing = hasFailed;
    } catch (error) {
      fail(error);
    }
  };
  const schedule = (): void => {
    if (end.signal.aborted) return;
    timer = setTimeout(() => {
      round = erase().then(schedule);
    }, INTERVAL_MILLISECONDS).unref();
  };
  schedule();
  return {
    stop: async () => {
      end.abort();
      clearTimeout(timer);
      await round;
    },
  };
}
