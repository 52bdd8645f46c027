import type { Database } from '../../store/connection/database.ts';
import { reportErrors } from '../../subjects/errors/report-errors.ts';
import { type OnFailure, type RunningJob, startRounds } from './rounds.ts';

/** Maximum delay of the last event of a minute. */
const INTERVAL_MILLISECONDS = 2_000;

/**
 * Writes events about stored errors while the service runs: at once when it is woken after this process has stored errors,
 * and every two seconds for other processes and the end of a minute.
 */
export function startReportingErrors(database: Database, onFailure: OnFailure): RunningJob {
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
