import { databaseTime, setDatabaseTime } from '../ids.ts';
import type { Database } from '../store/connection/database.ts';
import { READ_TIME_OF_DAY } from '../store/sandbox-clock.ts';

/** How often the clock is read for one reading: the answer that came quickest is the most exact. */
const TRIES = 5;

/**
 * Reads the database's clock, by which ids and errors are dated from then on. Gives how far this machine's clock is
 * ahead of it, in milliseconds.
 */
export async function readDatabaseClock(database: Database): Promise<number> {
  let quickest = Number.POSITIVE_INFINITY;
  for (let count = 0; count < TRIES; count += 1) {
    const askedAt = performance.now();
    const [row] = await database.read(READ_TIME_OF_DAY);
    const took = performance.now() - askedAt;
    if (took >= quickest) continue;
    quickest = took;
    setDatabaseTime(Number(row?.now), askedAt + took / 2);
  }
  return Date.now() - databaseTime();
}
