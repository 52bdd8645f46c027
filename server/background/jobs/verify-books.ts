import type { Database } from '../../store/connection/database.ts';
import {
  type BooksVerification,
  type LastVerification,
  READ_LAST_VERIFICATION,
  toLastVerification,
  verifyAndStore,
} from '../../store/ledger/books-verification.ts';
import { type RunningJob, startRounds } from './rounds.ts';

/** How often this process checks whether a verification is due; the first time after the busy time of a start. */
const LOOK_MILLISECONDS = 60_000;

/**
 * From the end of a verification to the next one. The books are verified within an hour, the time of a verification and of
 * the check included.
 */
const PAUSE_MILLISECONDS = 50 * 60_000;

/**
 * The pause after a verification, as a multiple of its duration: on a huge ledger the job uses one connection for at most a
 * twentieth of the time.
 */
const PAUSE_FACTOR = 19;

/** Times of the job. Tests set shorter ones. */
export type VerificationTimes = { readonly lookMilliseconds: number; readonly pauseMilliseconds: number };

const TIMES: VerificationTimes = { lookMilliseconds: LOOK_MILLISECONDS, pauseMilliseconds: PAUSE_MILLISECONDS };

/** How the job reports. */
export type VerificationReports = {
  /** The books were verified by this process. */
  readonly onVerified?: (verification: BooksVerification) => void;
  /** They do not balance. */
  readonly onMismatch: (verification: BooksVerification) => void;
  /** Called for the first of several failures in a row. */
  readonly onFailure: (error: unknown) => void;
};

/**
 * Verifies the books while the service runs, one process at a time: every balance against its postings and holds. `stop`
 * ends a verification in progress.
 */
export function startVerifyingBooks(
  database: Database,
  { onVerified, onMismatch, onFailure }: VerificationReports,
  { lookMilliseconds, pauseMilliseconds }: VerificationTimes = TIMES,
): RunningJob {
  const isDue = (last: LastVerification | undefined): boolean =>
    last === undefined || last.ageMilliseconds >= pauseAfter(last, pauseMilliseconds);
  return startRounds({
    firstPauseMilliseconds: lookMilliseconds,
    // What failed late must not be repeated at once.
    retryMilliseconds: (tookMilliseconds) => Math.max(lookMilliseconds, tookMilliseconds * PAUSE_FACTOR),
    onFailure,
    run: async (signal) => {
      if (!isDue(toLastVerification(await database.read(READ_LAST_VERIFICATION)))) return lookMilliseconds;
      const verification = await verifyAndStore(database, isDue, signal);
      if (verification === undefined) return lookMilliseconds;
      onVerified?.(verification);
      if (!verification.balanced) onMismatch(verification);
      return lookMilliseconds;
    },
  });
}

function pauseAfter({ startedAt, finishedAt }: BooksVerification, pauseMilliseconds: number): number {
  return Math.max(pauseMilliseconds, (finishedAt - startedAt) * PAUSE_FACTOR);
}
