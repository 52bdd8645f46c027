import type { Database } from '../../store/connection/database.ts';
import type { OpenIncidents } from '../../subjects/support/follow-incidents.ts';
import { type OnFailure, type RunningJob, startRounds } from './rounds.ts';

/** Maximum delay after a change of an incident, whichever process made it. */
const INTERVAL_MILLISECONDS = 1_000;

/**
 * Keeps in memory which incidents are open, and resolves the cases of resolved ones, also of those that another process has
 * left behind. `onFailure` is called for the first of several failed rounds in a row.
 */
export function startFollowingIncidents(
  database: Database,
  incidents: OpenIncidents,
  onFailure: OnFailure,
): RunningJob {
  return startRounds({
    firstPauseMilliseconds: 0,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure,
    run: async (signal) => {
      await incidents.follow(database, signal);
      return INTERVAL_MILLISECONDS;
    },
  });
}
