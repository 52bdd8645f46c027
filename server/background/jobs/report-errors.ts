import type { Database } from '../../store/connection/database.ts';
import { reportErrors } from '../../subjects/errors/report-errors.ts';
import { type RunningJob, startRounds } from './rounds.ts';

/** How late the last event of a minute is at most. */
const INTERVAL_MILLISECONDS = 2_000;

/**
 * Writes events about stored errors while the service runs: at once when it is woken because errors were stored, and for
 * other processes and the end of a minute every two seconds. `onFailure` is called for the first of several failures in a
 * row.
 */
export function startReportingErrors(database: Database, onFailure: (error: unknown) => void): RunningJob {
  return startRounds({
    firstPauseMilliseconds: INTERVAL_MILLISECONDS,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure,
    run: async () => {
      await reportErrors(database);
      return INTERVAL_MILLISECONDS;
    },
  });
}
