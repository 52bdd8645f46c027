import { writeSync } from 'node:fs';
import { causesOf } from './redaction.ts';

/** Milliseconds for the last record to find room, where the reader of standard error is slow. */
const ROOM_WITHIN = 500;

/** The level of the last record, as the log writes levels: fatal. */
const FATAL = 60;

/**
 * From here on, what nothing has caught ends the process with status 1 and one record on standard error, at every level
 * of the log. Node would print the error with all that hangs on it, and what PostgreSQL says of a failed statement
 * quotes the row, a broken URL its password.
 *
 * Going on is no choice: nobody knows what the rest of the process would then do. Transactions that were under way roll
 * back or have committed; their callers learn which by their keys, as after a kill.
 */
export function endOnCrash(): void {
  process.on('uncaughtException', (thrown) => {
    const time = new Date().toISOString();
    const record = {
      level: FATAL,
      time,
      event: 'crash',
      causes: causesOf(thrown, true),
      msg: 'a bug ends the process',
    };
    writeLast(`${JSON.stringify(record)}\n`);
    process.exit(1);
  });
  // What is printed for people may find nobody who reads it, and that is no reason to end.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
}

/** Writes at once, since nothing else runs any more; what finds no room in time is lost. */
function writeLast(text: string): void {
  const end = performance.now() + ROOM_WITHIN;
  let rest = Buffer.from(text);
  while (rest.length > 0 && performance.now() < end) {
    try {
      rest = rest.subarray(writeSync(2, rest));
    } catch (error) {
      // Only a full pipe is worth another try; otherwise nobody reads it, and the status says the rest.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return;
    }
  }
}
