import type { Database } from '../../store/connection/database.ts';
import { dropOldEvents } from '../../store/events/retention.ts';
import { dropOldErrors, preparePartitions } from '../../store/partition.ts';
import { dropOldAttempts } from '../../store/webhooks/attempt.ts';
import { deleteOldDeliveries } from '../../store/webhooks/delivery.ts';
import { type RunningJob, startRounds } from './rounds.ts';

/** Twice a day: partitions are created a week or more ahead, so a failed round has many retries. */
const INTERVAL_MILLISECONDS = 12 * 60 * 60 * 1000;

/** The first round waits until the busy time of a start is over. */
const FIRST_DELAY_MILLISECONDS = 60 * 1000;

/**
 * Creates the partitions of the coming days and months while the service runs, and removes errors, events and attempts that
 * are older than configured. Several processes may do this at once.
 */
export function startPartitionMaintenance(
  database: Database,
  {
    errorRetentionDays,
    errorCountRetentionDays,
    eventRetentionDays,
    attemptRetentionDays,
  }: {
    readonly errorRetentionDays: number;
    readonly errorCountRetentionDays: number;
    readonly eventRetentionDays: number;
    readonly attemptRetentionDays: number;
  },
  onFailure: (error: unknown) => void,
): Pick<RunningJob, 'stop'> {
  const job = startRounds({
    firstPauseMilliseconds: FIRST_DELAY_MILLISECONDS,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure,
    run: async () => {
      await preparePartitions(database);
      await dropOldErrors(database, errorRetentionDays, errorCountRetentionDays);
      await dropOldEvents(database, eventRetentionDays);
      await dropOldAttempts(database, attemptRetentionDays);
      await deleteOldDeliveries(database, eventRetentionDays);
      return INTERVAL_MILLISECONDS;
    },
  });
  // A stop does not wait for the round in progress, which has no time limit: the next round does what is left.
  return { stop: async () => void job.stop() };
}
