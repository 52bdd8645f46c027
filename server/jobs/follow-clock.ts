import { readDatabaseClock } from './read-clock.ts';

/** Between two readings of the database's clock, in milliseconds. */
const INTERVAL = 60_000;

/** How far this machine's clock may be off before somebody is told, in milliseconds. */
const TOLERATED = 2_000;

/** Told of a clock that is off: by how many milliseconds this machine's is ahead of the database's. */
export type ClockReports = {
  readonly onDifference: (ahead_ms: number) => void;
  readonly onFailure: (error: unknown) => void;
};

/** Reads the database's clock, and again every minute while the service runs. Rejects when the first reading fails. */
export async function followClock(
  database: Parameters<typeof readDatabaseClock>[0],
  { onDifference, onFailure }: ClockReports,
): Promise<{ readonly stop: () => void }> {
  let wasOff = false;
  const read = async (): Promise<void> => {
    const ahead = await readDatabaseClock(database);
    const isOff = Math.abs(ahead) > TOLERATED;
    if (isOff && !wasOff) onDifference(ahead);
    wasOff = isOff;
  };
  await read();
  const timer = setInterval(() => void read().catch(onFailure), INTERVAL).unref();
  return { stop: () => clearInterval(timer) };
}
