import type { Log } from './log.ts';

/** If the database has failed no request for this long, an outage is over. The next failure is logged in full again. */
const QUIET_MILLISECONDS = 10_000;

const INTERVAL_MILLISECONDS = 1_000;

type Fields = Readonly<Record<string, unknown>> & { readonly requestId: string };

/**
 * Creates the function that logs faults. Usually, each fault has its own line with its causes. While the database is unavailable,
 * only the first fault has a line, and the others are counted once a second. The error log contains each of them.
 */
export function openFaultLog(log: Pick<Log, 'error'>): (fields: Fields, message: string, isOutage: boolean) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  let first = '';
  let count = 0;
  const tell = (): void => {
    const requests = count === 1 ? 'request' : 'requests';
    log.error(
      { event: 'server_errors', count, firstRequestId: first },
      `${count} more ${requests} failed within a second because the database is unavailable; the error log has each`,
    );
    count = 0;
  };
  return (fields, message, isOutage) => {
    const isFirst = performance.now() - lastAt > QUIET_MILLISECONDS;
    if (isOutage) lastAt = performance.now();
    if (!isOutage || isFirst) {
      if (isOutage) first = fields.requestId;
      log.error({ event: 'server_error', ...fields }, message);
      return;
    }
    if (count === 0) setTimeout(tell, INTERVAL_MILLISECONDS).unref();
    count += 1;
  };
}
