import { writeSync } from 'node:fs';
import { causesOf } from './operations/redaction.ts';

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
    try {
      writeSync(2, `${JSON.stringify(record)}\n`);
    } catch {
      // Nobody reads it; the status says the rest.
    }
    process.exit(1);
  });
  // What is printed for people may find nobody who reads it, and that is no reason to end.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
}
