import { maintainPartitions } from '../operations/maintain-partitions.ts';

/** Twice a day: partitions are made months ahead, so one that fails has many more tries. */
const INTERVAL = 12 * 60 * 60 * 1000;

/** Keeps the partitions of the coming months ready while the service runs. Several processes may do so at once. */
export function keepPartitions(
  database: Parameters<typeof maintainPartitions>[0],
  onFailure: (error: unknown) => void,
): { readonly stop: () => void } {
  const timer = setInterval(() => void maintainPartitions(database).catch(onFailure), INTERVAL);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
