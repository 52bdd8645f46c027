import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../store/connection/database.ts';
import { eraseInBatches } from '../../subjects/cards/erase-in-batches.ts';
import { type OnFailure, type RunningJob, startRounds } from './rounds.ts';

/** Maximum delay before an erasure begins, whichever process received the request. */
const INTERVAL_MILLISECONDS = 1_000;

/** The pause after a batch, as a multiple of its duration: the job uses one connection for half of the time. */
const PAUSE_FACTOR = 1;

/**
 * Erases what is stored about the holders of cards while the service runs. `onFailure` is called for the first of several
 * failed rounds in a row. `stop` waits for the batch in progress; another process continues after it.
 */
export function startErasingCardHolders(database: Database, onFailure: OnFailure): RunningJob {
  return startRounds({
    firstPauseMilliseconds: INTERVAL_MILLISECONDS,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure,
    run: async (signal) => {
      let failure: { readonly error: unknown } | undefined;
      await eraseInBatches(database, {
        // Noted and thrown later, so that the other erasures continue.
        onFailure: (error) => {
          failure ??= { error };
        },
        pause: async (milliseconds) => {
          await sleep(milliseconds * PAUSE_FACTOR, undefined, { ref: false, signal }).catch(() => undefined);
          return !signal.aborted;
        },
      });
      if (failure !== undefined) throw failure.error;
      return INTERVAL_MILLISECONDS;
    },
  });
}
