/** The database's time when `performance.now()` was 0. Before the first reading, this machine's time is used instead. */
let origin = performance.timeOrigin;

/**
 * Returns the database's clock in milliseconds since 1970: the last reading plus the time since then. It is accurate to within
 * a few milliseconds. Changes of this machine's clock do not affect it.
 */
export function databaseTime(): number {
  return Math.round(origin + performance.now());
}

/** Sets the clock to a reading of the database's clock. `readAt` is the time of the reading, from `performance.now()`. */
export function setDatabaseTime(reading: number, readAt: number): void {
  origin = reading - readAt;
}

const HOUR_MILLISECONDS = 3_600_000;

/** Returns the start of the hour that contains a time, in milliseconds since 1970 (UTC). */
export function hourOf(time: number): number {
  return Math.floor(time / HOUR_MILLISECONDS) * HOUR_MILLISECONDS;
}
