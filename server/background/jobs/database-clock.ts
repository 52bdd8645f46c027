import { databaseTime, setDatabaseTime } from '../../foundation/database-clock.ts';
import type { Database } from '../../store/connection/database.ts';
import { READ_TIME_OF_DAY } from '../../store/ledger-mode.ts';

const INTERVAL_MILLISECONDS = 60_000;

/** A larger difference between this machine's clock and the database's clock is reported. */
const TOLERANCE_MILLISECONDS = 2_000;

/** Number of queries per reading. The query with the shortest round trip gives the most accurate result. */
const QUERIES = 5;

export type ClockReports = {
  /**
   * Called when this machine's clock begins to differ, with the number of milliseconds that it is ahead. Negative if it is behind.
   */
  readonly onDifference: (aheadMilliseconds: number) => void;
  readonly onFailure: (error: unknown) => void;
};

/**
 * Reads the database's clock every minute while the service runs. `aheadMilliseconds` is the result of the first reading, at the
 * start of the service: how far this machine's clock was ahead.
 */
export function followDatabaseClock(
  database: Database,
  aheadMilliseconds: number,
  { onDifference, onFailure }: ClockReports,
): { readonly stop: () => void } {
  let wasOff = false;
  const compare = (ahead: number): void => {
    const isOff = Math.abs(ahead) > TOLERANCE_MILLISECONDS;
    if (isOff && !wasOff) onDifference(ahead);
    wasOff = isOff;
  };
  compare(aheadMilliseconds);
  const read = (): Promise<void> => readDatabaseClock(database).then(compare);
  const timer = setInterval(() => void read().catch(onFailure), INTERVAL_MILLISECONDS).unref();
  return { stop: () => clearInterval(timer) };
}

/** Reads the database's clock. Returns how many milliseconds this machine's clock is ahead of it. */
export async function readDatabaseClock(database: Database): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  for (let count = 0; count < QUERIES; count += 1) {
    const sentAt = performance.now();
    const [row] = await database.read(READ_TIME_OF_DAY);
    const roundTrip = performance.now() - sentAt;
    if (roundTrip >= shortest) continue;
    shortest = roundTrip;
    setDatabaseTime(Number(row?.now), sentAt + roundTrip / 2);
  }
  return Date.now() - databaseTime();
}
