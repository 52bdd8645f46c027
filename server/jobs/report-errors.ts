import { reportErrors } from '../error-log/report-errors.ts';
import type { Database } from '../store/connection/database.ts';

/** How late the last event of a minute is at most. */
const INTERVAL_MILLISECONDS = 2_000;

/** The job, and how it is told that errors were stored. */
export type ErrorReporting = { readonly wake: () => void; readonly stop: () => Promise<void> };

/**
 * Writes events about stored errors while the service runs: at once after {@link ErrorReporting.wake}, and for other
 * processes and the end of a minute every two seconds. `onFailure` is called for the first of several failures in a row.
 */
export function startReportingErrors(database: Database, onFailure: (error: unknown) => void): ErrorReporting {
  let isStopped = false;
  let isFailing = false;
  let isAwake = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> | undefined;
  const schedule = (delayMilliseconds: number): void => {
    clearTimeout(timer);
    if (isStopped) return;
    timer = setTimeout(() => {
      isAwake = false;
      round = report().then(() => {
        round = undefined;
        schedule(isAwake ? 0 : INTERVAL_MILLISECONDS);
      });
    }, delayMilliseconds).unref();
  };
  const report = async (): Promise<void> => {
    try {
      await reportErrors(database);
      isFailing = false;
    } catch (error) {
      if (!isFailing) onFailure(error);
      isFailing = true;
    }
  };
  schedule(INTERVAL_MILLISECONDS);
  return {
    wake: () => {
      isAwake = true;
      if (round === undefined) schedule(0);
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await round;
    },
  };
}
