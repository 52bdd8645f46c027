import { maintainPartitions } from './maintain-partitions.ts';

/** Twice a day: partitions are made months ahead, so one that fails has many more tries. */
const INTERVAL = 12 * 60 * 60 * 1000;

/** Not at once: a service that starts has more urgent things to ask of the database. */
const FIRST = 60 * 1000;

/**
 * Keeps the partitions of the coming months ready while the service runs, and removes errors that are older than
 * `errorDays` days. Several processes may do so at once.
 */
export function keepPartitions(
  database: Parameters<typeof maintainPartitions>[0],
  errorDays: number,
  onFailure: (error: unknown) => void,
): { readonly stop: () => void } {
  const maintain = (): void => void maintainPartitions(database, errorDays).catch(onFailure);
  const first = setTimeout(maintain, FIRST).unref();
  const timer = setInterval(maintain, INTERVAL).unref();
  return {
    stop: () => {
      clearTimeout(first);
      clearInterval(timer);
    },
  };
}
