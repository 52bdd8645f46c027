import type { Database } from '../../store/connection/database.ts';
import type { OverviewMaker } from '../../subjects/overview/overview.ts';
import { type RunningJob, startRounds } from './rounds.ts';

/** What a killed process loses at most, and one statement for all transfers of this time. */
const INTERVAL_MILLISECONDS = 10_000;

/** What a process stores of itself: its transfers, and what it did in the last minute. */
type Counted = Pick<OverviewMaker, 'store' | 'leave'>;

/** Stores what the process counts, at intervals and once more when it is stopped. */
export function startStoringTransferCounts(
  database: Database,
  counted: Counted,
  onFailure: (error: unknown) => void,
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

/** Begins to follow what the process does, second by second, and to store how many transfers it makes. */
export function startCounting(
  database: Database,
  overview: Pick<OverviewMaker, 'start' | 'stop'> & Counted,
  onFailure: (error: unknown) => void,
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
