import type { Database } from '../../store/connection/database.ts';
import { checkDueDays, READ_DUE_DAYS } from '../../store/ledger/day-check.ts';
import { addsUp } from '../../subjects/programs/days.ts';
import { type OnFailure, type RunningJob, startRounds } from './rounds.ts';

/** Maximum delay after a day can be closed. Without a due day, a round reads only the card programs and the last results. */
const INTERVAL_MILLISECONDS = 10_000;

/** Pause while another process checks days. It can take long, and trying needs a connection. */
const TAKEN_MILLISECONDS = 60_000;

/** Pause after a failure. A day that cannot be checked may fail after a long time. */
const RETRY_MILLISECONDS = 5 * 60_000;

export type DayReports = {
  /** Called for each check of a day that does not add up, with the inner UUID of the card program. */
  readonly onMismatch: (programId: string, day: string) => void;
  /** Called for each check that failed. `isRepeated` is true if the last check of this day failed, too. */
  readonly onUnchecked: (programId: string, day: string, error: unknown, isRepeated: boolean) => void;
  readonly onFailure: OnFailure;
};

/**
 * Checks whether the last day of each card program adds up, after it is over. Earlier days are checked again if they did not add
 * up, but not if they were never checked because the service was stopped. Several processes may do this at once.
 */
export function startCheckingDays(
  database: Database,
  { onMismatch, onUnchecked, onFailure }: DayReports,
  intervalMilliseconds: number = INTERVAL_MILLISECONDS,
): RunningJob {
  const failed = new Set<string>();
  return startRounds({
    firstPauseMilliseconds: intervalMilliseconds,
    retryMilliseconds: RETRY_MILLISECONDS,
    onFailure,
    run: async (signal) => {
      if ((await database.read(READ_DUE_DAYS)).length === 0) return intervalMilliseconds;
      const result = await checkDueDays(
        database,
        {
          check: async (read, due) => {
            const isRight = await addsUp(read, due);
            if (!isRight) onMismatch(due.programId, due.day);
            return isRight;
          },
          onFailure: ({ programId, day }, error, isRepeated) => onUnchecked(programId, day, error, isRepeated),
          failed,
        },
        signal,
      );
      return { checked: intervalMilliseconds, taken: TAKEN_MILLISECONDS, failed: RETRY_MILLISECONDS }[result];
    },
  });
}
