import type { Database } from '../../store/connection/database.ts';
import type { OverviewMaker } from '../../subjects/overview/overview.ts';
import type { TransferCounts } from '../../subjects/overview/transfer-counts.ts';
import { type RunningJob, startRounds } from './rounds.ts';

/** What a killed process loses at most, and one statement for all transfers of this time. */
const INTERVAL_MILLISECONDS = 10_000;

/** Stores the counts of transfers, at intervals and once more when it is stopped. */
export function startStoringTransferCounts(
  database: Database,
  counts: Pick<TransferCounts, 'store'>,
  onFailure: (error: unknown) => void,
): Pick<RunningJob, 'stop'> {
  const job = startRounds({
    firstPauseMilliseconds: INTERVAL_MILLISECONDS,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure,
    run: async () => {
      await counts.store(database);
      return INTERVAL_MILLISECONDS;
    },
  });
  return {
    stop: async () => {
      await job.stop();
      await counts.store(database).catch(onFailure);
    },
  };
}

/** Begins to follow what the process does, second by second, and to store how many transfers it makes. */
export function startCounting(
  database: Database,
  overview: Pick<OverviewMaker, 'start' | 'stop' | 'counts'>,
  onFailure: (error: unknown) => void,
): Pick<RunningJob, 'stop'> {
  overview.start();
  const storing = startStoringTransferCounts(database, overview.counts, onFailure);
  return {
    stop: async () => {
      overview.stop();
      await storing.stop();
    },
  };
}
