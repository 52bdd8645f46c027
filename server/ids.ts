import { randomUUID } from 'node:crypto';

// Lists are sorted and searched by ids, and an id begins with its time. So every id takes it from one clock, the
// database's: processes whose own clocks are wrong would otherwise sort what they make among yesterday's or tomorrow's.

/** What the database's clock said when `performance.now()` was 0; this machine's own until it has been read. */
let origin = performance.timeOrigin;

/** The most that `place` can be, and one. */
const PLACES = 4096;

/**
 * The database's clock in milliseconds since 1970, as it was last read and has gone on since; exact to some
 * milliseconds. Changes of this machine's clock do not reach it.
 */
export function databaseTime(): number {
  return Math.round(origin + performance.now());
}

/** Goes by a reading of the database's clock; `readAt` is the moment of the reading by `performance.now()`. */
export function setDatabaseTime(reading: number, readAt: number): void {
  origin = reading - readAt;
}

/** A UUIDv7 of now, for what is named before the database has been asked. */
export function newId(): string {
  return idAt(databaseTime());
}

/**
 * A UUIDv7 of a moment, in milliseconds since 1970. What a transaction makes has the time at which it was decided, so
 * that ids and `created_at` agree; `place` puts what has one moment in order.
 */
export function idAt(moment: number, place?: number): string {
  const time = moment.toString(16).padStart(12, '0');
  const random = randomUUID();
  const next = place === undefined ? random.slice(15, 18) : (place % PLACES).toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${next}${random.slice(18)}`;
}
