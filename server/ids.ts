import { randomUUID } from 'node:crypto';

// Lists are sorted by id, and an id begins with its time. All ids use one clock, the database's, so that a process with a
// wrong clock does not sort its rows into the past or future.

/** The database's time when `performance.now()` was 0; this machine's until it has been read. */
let origin = performance.timeOrigin;

/** `place` is used modulo this. */
const MAX_SEQUENCE = 4096;

/**
 * The database's clock in milliseconds since 1970, as it was last read and has gone on since; exact to some
 * milliseconds. Changes of this machine's clock do not reach it.
 */
export function databaseTime(): number {
  return Math.round(origin + performance.now());
}

/** Sets the clock to a reading of the database's; `readAt` is the time of the reading by `performance.now()`. */
export function setDatabaseTime(reading: number, readAt: number): void {
  origin = reading - readAt;
}

/** A UUIDv7 of now, for ids that are needed before a transaction begins. */
export function newId(): string {
  return idAt(databaseTime());
}

/**
 * A UUIDv7 of a moment, in milliseconds since 1970. Rows get the time of their transaction's decision, so that ids and
 * `created_at` agree; `place` orders the ids of one moment.
 */
export function idAt(moment: number, place?: number): string {
  const time = moment.toString(16).padStart(12, '0');
  const random = randomUUID();
  const next = place === undefined ? random.slice(15, 18) : (place % MAX_SEQUENCE).toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${next}${random.slice(18)}`;
}
