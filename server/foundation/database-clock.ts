/** The database's time when `performance.now()` was 0. This machine's time until the first reading. */
let origin = performance.timeOrigin;

/**
 * The database's clock in milliseconds since 1970: the last reading plus the time since, exact to some milliseconds. Changes of
 * this machine's clock do not affect it.
 */
export function databaseTime(): number {
  return Math.round(origin + performance.now());
}

/** Sets the clock to a reading of the database's. `readAt` is the time of the reading by `performance.now()`. */
export function setDatabaseTime(reading: number, readAt: number): void {
  origin = reading - readAt;
}

const HOUR_MILLISECONDS = 3_600_000;

/** The beginning of the hour of a moment, in milliseconds since 1970 (UTC). */
export function hourOf(time: number): number {
  return Math.floor(time / HOUR_MILLISECONDS) * HOUR_MILLISECONDS;
}
