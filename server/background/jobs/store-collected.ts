// Jobs that store counts, and uses of credentials. The process collects both in memory, so that requests do not have to store
// them.
import type { Database } from '../../store/connection/database.ts';
import type { RefusedCredentials } from '../../subjects/audit/audit.ts';
import type { KeyUses } from '../../subjects/keys/authenticate.ts';
import type { OverviewMaker } from '../../subjects/overview/overview.ts';
import type { SessionUseNotes } from '../../subjects/sessions/authenticate-session.ts';
import { type OnFailure, type RunningJob, startRounds } from './rounds.ts';

/** If the process is killed, at most the counts of this interval are lost. One statement stores all of them. */
const COUNTS_INTERVAL_MILLISECONDS = 10_000;

type Counted = Pick<OverviewMaker, 'store' | 'leave'>;

/** Stores the counts of the process at intervals, and once more when it is stopped. */
export function startStoringTransferCounts(
  database: Database,
  counted: Counted,
  onFailure: OnFailure,
): Pick<RunningJob, 'stop'> {
  const job = startRounds({
    firstPauseMilliseconds: COUNTS_INTERVAL_MILLISECONDS,
    retryMilliseconds: COUNTS_INTERVAL_MILLISECONDS,
    onFailure,
    run: async () => {
      await counted.store(database);
      return COUNTS_INTERVAL_MILLISECONDS;
    },
  });
  return {
    stop: async () => {
      await job.stop();
      await counted.leave(database).catch(onFailure);
    },
  };
}

/** Starts to collect the figures of the process every second, and to store them. */
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

/** Interval for writing uses. The use of a key is written at most once a minute. */
const USES_INTERVAL_MILLISECONDS = 5_000;

const REFUSALS_INTERVAL_MILLISECONDS = 60_000;

/** Writes refused credentials, and the times when API keys and sessions were used, so that requests do not have to. */
export function startWritingCredentialUses(
  {
    keys,
    sessions,
    refusals,
  }: { readonly keys: KeyUses; readonly sessions: SessionUseNotes; readonly refusals: RefusedCredentials },
  onFailure: (error: unknown) => void,
): { readonly stop: () => Promise<void> } {
  const write = (collected: { readonly write: () => Promise<void> }): Promise<void> =>
    collected.write().catch(onFailure);
  const usesTimer = setInterval(() => {
    void write(keys);
    void write(sessions);
  }, USES_INTERVAL_MILLISECONDS).unref();
  const refusalsTimer = setInterval(() => void write(refusals), REFUSALS_INTERVAL_MILLISECONDS).unref();
  return {
    stop: async () => {
      clearInterval(usesTimer);
      clearInterval(refusalsTimer);
      await Promise.all([write(keys), write(sessions), write(refusals)]);
    },
  };
}
