import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../store/connection/database.ts';
import { eraseInBatches } from '../../subjects/cards/erase-in-batches.ts';
import { type RunningJob, startRounds } from './rounds.ts';

/** How soon an erasure begins, whichever process was asked for it. */
const INTERVAL_MILLISECONDS = 1_000;

/** The pause after a batch, as a multiple of its duration: the job uses one connection for half of the time. */
const PAUSE_FACTOR = 1;

/**
 * Erases what is stored about the holders of cards while the service runs. `onFailure` is called for the first of several
 * failed rounds in a row. `stop` waits for the batch in progress; the next process goes on from there.
 */
export function startErasingCardHolders(database: Database, onFailure: (error: unknown) => void): RunningJob {
  return startRounds({
    firstPauseMilliseconds: INTERVAL_MILLISECONDS,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure,
    run: async (signal) => {
      let failure: { readonly error: unknown } | undefined;
      await eraseInBatches(database, {
        // The other erasures go on.
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
