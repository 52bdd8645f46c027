import type { Database } from '../../store/connection/database.ts';
import {
  type BooksVerification,
  type LastVerification,
  READ_LAST_VERIFICATION,
  toLastVerification,
  verifyAndStore,
} from '../../store/ledger/books-verification.ts';
import { checkDueDays, READ_DUE_DAYS } from '../../store/ledger/day-check.ts';
import { addsUp } from '../../subjects/programs/days.ts';
import { type OnFailure, type RunningJob, startRounds } from './rounds.ts';

/**
 * How often this process checks whether a verification is due. The first check waits until the busy phase after startup has
 * passed.
 */
const CHECK_MILLISECONDS = 60_000;

/**
 * The minimum pause between the end of a verification and the next one. With the time for the verification and the
 * check, the books are verified about every hour.
 */
const PAUSE_MILLISECONDS = 50 * 60_000;

/**
 * The pause is also at least this multiple of the duration of the verification. With 19, the job uses a connection for
 * at most a twentieth of the time, even on a huge ledger.
 */
const PAUSE_FACTOR = 19;

/** Intervals of the job. Tests set shorter ones. */
export type VerificationTimes = { readonly checkMilliseconds: number; readonly pauseMilliseconds: number };

const TIMES: VerificationTimes = { checkMilliseconds: CHECK_MILLISECONDS, pauseMilliseconds: PAUSE_MILLISECONDS };

export type VerificationReports = {
  readonly onVerified?: (verification: BooksVerification) => void;
  readonly onMismatch: (verification: BooksVerification) => void;
  readonly onFailure: OnFailure;
};

/** Verifies the books while the service runs, in one process at a time. `stop` ends a verification in progress. */
export function startVerifyingBooks(
  database: Database,
  { onVerified, onMismatch, onFailure }: VerificationReports,
  { checkMilliseconds, pauseMilliseconds }: VerificationTimes = TIMES,
): RunningJob {
  const isDue = (last: LastVerification | undefined): boolean =>
    last === undefined || last.ageMilliseconds >= pauseAfter(last, pauseMilliseconds);
  return startRounds({
    firstPauseMilliseconds: checkMilliseconds,
    // If a verification fails after a long time, it must not be repeated immediately.
    retryMilliseconds: (tookMilliseconds) => Math.max(checkMilliseconds, tookMilliseconds * PAUSE_FACTOR),
    onFailure,
    run: async (signal) => {
      if (!isDue(toLastVerification(await database.read(READ_LAST_VERIFICATION)))) return checkMilliseconds;
      const verification = await verifyAndStore(database, isDue, signal);
      if (verification === undefined) return checkMilliseconds;
      onVerified?.(verification);
      if (!verification.balanced) onMismatch(verification);
      return checkMilliseconds;
    },
  });
}

function pauseAfter({ startedAt, finishedAt }: BooksVerification, pauseMilliseconds: number): number {
  return Math.max(pauseMilliseconds, (finishedAt - startedAt) * PAUSE_FACTOR);
}

/** Maximum delay after a day can be closed. Without a due day, a round reads only the card programs and the last results. */
const DAYS_MILLISECONDS = 10_000;

/** Pause while another process checks days. It can take long, and trying needs a connection. */
const DAYS_TAKEN_MILLISECONDS = 60_000;

/** Pause after a failure. A day that cannot be checked may fail after a long time. */
const DAYS_RETRY_MILLISECONDS = 5 * 60_000;

type DayReports = {
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
  intervalMilliseconds: number = DAYS_MILLISECONDS,
): RunningJob {
  const failed = new Set<string>();
  return startRounds({
    firstPauseMilliseconds: intervalMilliseconds,
    retryMilliseconds: DAYS_RETRY_MILLISECONDS,
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
      return { checked: intervalMilliseconds, taken: DAYS_TAKEN_MILLISECONDS, failed: DAYS_RETRY_MILLISECONDS }[result];
    },
  });
}
