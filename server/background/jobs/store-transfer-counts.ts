import type { Database } from '../../store/connection/database.ts';
import type { OverviewMaker } from '../../subjects/overview/overview.ts';
import { type OnFailure, type RunningJob, startRounds } from './rounds.ts';

/** A killed process loses the counts of this time at most; one statement stores all of them. */
const INTERVAL_MILLISECONDS = 10_000;

/** The counts that a process stores: its transfers, and its figures of the last minute. */
type Counted = Pick<OverviewMaker, 'store' | 'leave'>;

/** Stores the counts of the process at intervals, and once more when it is stopped. */
export function startStoringTransferCounts(
  database: Database,
  counted: Counted,
  onFailure: OnFailure,
): Pick<RunningJob, 'stop'> {
  const job = startRounds({
    firstPauseMilliseconds: INTERVAL_MILLISECONDS,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure,
    run: async () => {
      await counted.store(database);
      return INTERVAL_MILLISECONDS;
    },
  });
  return {
    stop: async () => {
      await job.stop();
      await counted.leave(database).catch(onFailure);
    },
  };
}

/** Starts to collect the figures of the process, second by second, and to store them. */
export function startCounting(
  database: Database,
  overview: Pick<OverviewMaker, 'start' | 'stop'> & Counted,
  onFailure: OnFailure,
): Pick<RunningJob, 'stop'> {
  overview.start();
  const storing = startStoringTransferCounts(database, overview, onFailure);
  return {
    stop: async () => {
      overview.stop();
      await storing.stop();
    },
  };
}
