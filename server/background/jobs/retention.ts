// Jobs that prepare partitions and delete old rows.

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { REOPENING_DAYS } from '../../../domain/support/case.ts';
import type { Database, Statement } from '../../store/connection/database.ts';
import { forgetErrorReports } from '../../store/error.ts';
import { dropOldEvents } from '../../store/events/retention.ts';
import { forgetBodies, forgetRefusedKeys, KEPT_DAYS } from '../../store/idempotency.ts';
import { forgetCounters } from '../../store/ledger/limits.ts';
import { dropOldErrors, preparePartitions } from '../../store/partition.ts';
import { forgetNotesOfAttempts, forgetNotesOfBreaks } from '../../store/processors/notes.ts';
import { forgetSessions } from '../../store/session.ts';
import { closeResolvedCases, forgetTextsOfCases } from '../../store/support/case.ts';
import { dropOldAttempts } from '../../store/webhooks/attempt.ts';
import { deleteOldDeliveries } from '../../store/webhooks/delivery.ts';
import { type OnFailure, type RunningJob, startRounds, takeAllSteps } from './rounds.ts';

/** Twice a day. Partitions are created at least a week ahead, so a failed round can be retried many times. */
const PARTITION_INTERVAL_MILLISECONDS = 12 * 60 * 60 * 1000;

/** The first round of both jobs waits until the busy phase after startup has passed. */
const FIRST_DELAY_MILLISECONDS = 60 * 1000;

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
    retryMilliseconds: PARTITION_INTERVAL_MILLISECONDS,
    onFailure,
    run: async () => {
      await maintainPartitions(database, retention);
      return PARTITION_INTERVAL_MILLISECONDS;
    },
  });
  // A stop does not wait for the round in progress, because the round has no time limit. The next round does the remaining work.
  return { stop: async () => void job.stop() };
}

/** Creates the partitions of the coming days and months. Deletes errors, events and attempts that are too old. */
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

/** Often enough to delete the expired rows of a day in small batches. */
const DELETION_INTERVAL_MILLISECONDS = 60 * 60 * 1000;

/** Number of rows per statement. It is small, so that each statement stays well within the statement timeout. */
const BATCH_SIZE = 1000;

/** The pause after a batch, as a multiple of its duration. With 4, the job uses a connection for a fifth of the time. */
const PAUSE_FACTOR = 4;

/** Deletes expired rows while the service runs: see {@link deleteExpired}. `stop` waits for the statement in progress. */
export function startDeletingExpired(
  database: Database,
  onFailure: OnFailure,
  {
    refusedKeyRetentionDays = KEPT_DAYS,
    errorRetentionDays = KEPT_DAYS,
    firstDelayMilliseconds = FIRST_DELAY_MILLISECONDS,
  }: {
    readonly refusedKeyRetentionDays?: number;
    readonly errorRetentionDays?: number;
    readonly firstDelayMilliseconds?: number;
  } = {},
): RunningJob {
  return startRounds({
    firstPauseMilliseconds: firstDelayMilliseconds,
    retryMilliseconds: DELETION_INTERVAL_MILLISECONDS,
    onFailure,
    run: async (signal) => {
      await deleteExpired(database, signal, refusedKeyRetentionDays, errorRetentionDays);
      return DELETION_INTERVAL_MILLISECONDS;
    },
  });
}

/**
 * Deletes data that is no longer needed. Each batch is small and a separate transaction, so no request waits for it. Several
 * processes can do this at once. Returns the number of deleted rows. If `signal` aborts, returns early and without an error.
 */
export async function deleteExpired(
  database: Database,
  signal?: AbortSignal,
  refusedKeyRetentionDays: number = KEPT_DAYS,
  errorRetentionDays: number = KEPT_DAYS,
): Promise<number> {
  let total = 0;
  const forgetKeys = (count: number): Statement => forgetRefusedKeys(count, refusedKeyRetentionDays);
  const closeCases = (count: number): Statement => closeResolvedCases(REOPENING_DAYS, count);
  const texts = [forgetTextsOfCases, forgetNotesOfAttempts, forgetNotesOfBreaks].map(
    (forget) =>
      (count: number): Statement =>
        forget(errorRetentionDays, count),
  );
  const statements = [
    forgetKeys,
    forgetBodies,
    forgetCounters,
    forgetErrorReports,
    forgetSessions,
    closeCases,
    ...texts,
  ];
  const steps = statements.map((statement) => async (): Promise<void> => {
    total += await deleteInBatches(database, statement, signal);
  });
  await takeAllSteps(steps, signal);
  return total;
}

async function deleteInBatches(
  database: Database,
  statement: (count: number) => Statement,
  signal: AbortSignal | undefined,
): Promise<number> {
  let total = 0;
  while (signal?.aborted !== true) {
    const startedAt = performance.now();
    const [row] = await database.writeUnguarded(statement(BATCH_SIZE));
    const deleted = Number(row?.forgotten ?? 0);
    total += deleted;
    if (deleted < BATCH_SIZE) break;
    const pauseMilliseconds = (performance.now() - startedAt) * PAUSE_FACTOR;
    await sleep(pauseMilliseconds, undefined, { ref: false, ...(signal && { signal }) }).catch(() => undefined);
  }
  return total;
}
