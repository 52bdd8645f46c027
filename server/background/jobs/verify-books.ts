import type { Database } from '../../store/connection/database.ts';
import {
  type BooksVerification,
  type LastVerification,
  READ_LAST_VERIFICATION,
  toLastVerification,
  verifyAndStore,
} from '../../store/ledger/books-verification.ts';
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
