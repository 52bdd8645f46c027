// Jobs that check for work every few seconds: due transfers, approvals, erasures, incidents, events about errors.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../store/connection/database.ts';
import { eraseInBatches } from '../../subjects/cards/erase-card-holder.ts';
import { reportErrors } from '../../subjects/errors/error-storage.ts';
import type { OpenIncidents } from '../../subjects/support/follow-incidents.ts';
import { settleDue } from '../../subjects/transfers/change-transfer.ts';
import { type OnFailure, type RunningJob, startRounds, takeAllSteps } from './rounds.ts';

/** Maximum delay after a hold has expired or a scheduled transfer is due. */
const DUE_INTERVAL_MILLISECONDS = 1_000;

const DUE_RETRY_MILLISECONDS = 5_000;

/** Expires holds and executes due scheduled transfers while the service runs. */
export function startSettlingDueTransfers(service: Parameters<typeof settleDue>[0], onFailure: OnFailure): RunningJob {
  return startRounds({
    firstPauseMilliseconds: DUE_INTERVAL_MILLISECONDS,
    retryMilliseconds: DUE_RETRY_MILLISECONDS,
    onFailure,
    run: async () => {
      const { failed, more } = await settleDue(service);
      if (failed > 0) throw new Error(`${failed} due transfers could not be settled`);
      return more ? 0 : DUE_INTERVAL_MILLISECONDS;
    },
  });
}

/**
 * Maximum delay before an expired approval ends. The job rarely has work, because approved requests are normally carried out
 * immediately.
 */
const APPROVAL_INTERVAL_MILLISECONDS = 5_000;

/** How long carrying out one approved request may take. */
const APPROVAL_MILLISECONDS = 10_000;

/** Ends expired approvals, and carries out approved requests if the process stopped before it could do so. */
export function startSettlingApprovals(
  findUnsettled: () => Promise<readonly ((deadline: number) => Promise<unknown>)[]>,
  onFailure: OnFailure,
): RunningJob {
  return startRounds({
    firstPauseMilliseconds: APPROVAL_INTERVAL_MILLISECONDS,
    retryMilliseconds: APPROVAL_INTERVAL_MILLISECONDS,
    onFailure,
    run: async (signal) => {
      const ends = await findUnsettled();
      const steps = ends.map((end) => () => end(performance.now() + APPROVAL_MILLISECONDS));
      await takeAllSteps(steps, signal);
      return APPROVAL_INTERVAL_MILLISECONDS;
    },
  });
}

/** Maximum delay before an erasure begins if another process received the request. */
const ERASURE_INTERVAL_MILLISECONDS = 1_000;

/** The pause after a batch, as a multiple of its duration. With 1, the job uses a connection for half of the time. */
const ERASURE_PAUSE_FACTOR = 1;

/** Erases stored data about the holders of cards while the service runs. `stop` waits for the batch in progress. */
export function startErasingCardHolders(database: Database, onFailure: OnFailure): RunningJob {
  return startRounds({
    firstPauseMilliseconds: ERASURE_INTERVAL_MILLISECONDS,
    retryMilliseconds: ERASURE_INTERVAL_MILLISECONDS,
    onFailure,
    run: async (signal) => {
      let failure: { readonly error: unknown } | undefined;
      await eraseInBatches(database, {
        // The error is kept and thrown later, so that the other erasures can continue.
        onFailure: (error) => {
          failure ??= { error };
        },
        pause: async (milliseconds) => {
          await sleep(milliseconds * ERASURE_PAUSE_FACTOR, undefined, { ref: false, signal }).catch(() => undefined);
          return !signal.aborted;
        },
      });
      if (failure !== undefined) throw failure.error;
      return ERASURE_INTERVAL_MILLISECONDS;
    },
  });
}

/** Maximum delay after another process has changed an incident. */
const INCIDENT_INTERVAL_MILLISECONDS = 1_000;

/** Keeps the open incidents in memory, and resolves the cases of resolved incidents of all processes. */
export function startFollowingIncidents(
  database: Database,
  incidents: OpenIncidents,
  onFailure: OnFailure,
): RunningJob {
  return startRounds({
    firstPauseMilliseconds: 0,
    retryMilliseconds: INCIDENT_INTERVAL_MILLISECONDS,
    onFailure,
    run: async (signal) => {
      await incidents.follow(database, signal);
      return INCIDENT_INTERVAL_MILLISECONDS;
    },
  });
}

/** Maximum delay of an event that reports the errors of a minute. */
const REPORT_INTERVAL_MILLISECONDS = 2_000;

/** Writes events about stored errors: immediately if this process has stored them, and every two seconds for other processes. */
export function startReportingErrors(database: Database, onFailure: OnFailure): RunningJob {
  return startRounds({
    firstPauseMilliseconds: REPORT_INTERVAL_MILLISECONDS,
    retryMilliseconds: REPORT_INTERVAL_MILLISECONDS,
    onFailure,
    run: async () => {
      await reportErrors(database);
      return REPORT_INTERVAL_MILLISECONDS;
    },
  });
}
