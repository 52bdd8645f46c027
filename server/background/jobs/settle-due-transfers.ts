import { settleDue } from '../../subjects/transfers/settle-due.ts';
import { type OnFailure, type RunningJob, startRounds } from './rounds.ts';

/** Maximum delay after a hold expires or a scheduled transfer is due. */
const INTERVAL_MILLISECONDS = 1_000;

/** Delay after a failure, such as a database that is down. */
const RETRY_MILLISECONDS = 5_000;

/**
 * Expires holds and executes scheduled transfers that are due while the service runs. `onFailure` is called for the first
 * of several failed rounds in a row.
 */
export function startSettlingDueTransfers(service: Parameters<typeof settleDue>[0], onFailure: OnFailure): RunningJob {
  return startRounds({
    firstPauseMilliseconds: INTERVAL_MILLISECONDS,
    retryMilliseconds: RETRY_MILLISECONDS,
    onFailure,
    run: async () => {
      const { failed, more } = await settleDue(service);
      if (failed > 0) throw new Error(`${failed} due transfers could not be settled`);
      return more ? 0 : INTERVAL_MILLISECONDS;
    },
  });
}
