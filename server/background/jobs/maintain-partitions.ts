import type { Database } from '../../store/connection/database.ts';
import { dropOldEvents } from '../../store/events/retention.ts';
import { dropOldErrors, preparePartitions } from '../../store/partition.ts';
import { dropOldAttempts } from '../../store/webhooks/attempt.ts';
import { deleteOldDeliveries } from '../../store/webhooks/delivery.ts';
import { type OnFailure, type RunningJob, startRounds, takeAllSteps } from './rounds.ts';

/** Twice a day: partitions are created a week or more ahead, so a failed round has many retries. */
const INTERVAL_MILLISECONDS = 12 * 60 * 60 * 1000;

/** The first round waits until the busy time of a start is over. */
const FIRST_DELAY_MILLISECONDS = 60 * 1000;

/** For how many days what is kept. */
export type Retention = {
  readonly errorRetentionDays: number;
  readonly errorCountRetentionDays: number;
  readonly eventRetentionDays: number;
  readonly attemptRetentionDays: number;
};

/** Calls {@link maintainPartitions} while the service runs. Several processes may do this at once. */
export function startPartitionMaintenance(
  database: Database,
  retention: Retention,
  onFailure: OnFailure,
): Pick<RunningJob, 'stop'> {
  const job = startRounds({
    firstPauseMilliseconds: FIRST_DELAY_MILLISECONDS,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure,
    run: async () => {
      await maintainPartitions(database, retention);
      return INTERVAL_MILLISECONDS;
    },
  });
  // A stop does not wait for the round in progress, which has no time limit: the next round does what is left.
  return { stop: async () => void job.stop() };
}

/**
 * Creates the partitions of the coming days and months, and removes errors, events and attempts that are older than
 * configured.
 */
export function maintainPartitions(
  database: Database,
  { errorRetentionDays, errorCountRetentionDays, eventRetentionDays, attemptRetentionDays }: Retention,
): Promise<void> {
  return takeAllSteps([
    () => preparePartitions(database),
    () => dropOldErrors(database, errorRetentionDays, errorCountRetentionDays),
    () => dropOldEvents(database, eventRetentionDays),
    () => dropOldAttempts(database, attemptRetentionDays),
    () => deleteOldDeliveries(database, eventRetentionDays),
  ]);
}
