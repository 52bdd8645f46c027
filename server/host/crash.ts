import { writeSync } from 'node:fs';
import { causesOf } from '../foundation/redaction.ts';
import type { LogEvent } from '../observe/log/log-events.ts';

/** Maximum time to write the last record when the reader of standard error is slow. */
const WRITE_TIMEOUT_MILLISECONDS = 500;

/** Pino's number for the level `fatal`. */
const FATAL = 60;

/**
 * Ends the process on an uncaught exception, with status 1 and one redacted record on standard error, at every log level,
 * after a `flush` of the waiting lines. Node would print all properties of the error. PostgreSQL's errors quote rows, and
 * URL errors quote the password.
 *
 * The process cannot continue, because its state is undefined. Transactions in progress roll back or have committed. Their
 * callers find out with their idempotency keys, as after any crash.
 */
export function endOnCrash(flush: () => void = () => undefined): void {
  process.on('uncaughtException', (thrown) => {
    const time = new Date().toISOString();
    const record = {
      level: FATAL,
      time,
      event: 'crash' satisfies LogEvent,
      causes: causesOf(thrown, true),
      msg: 'a bug ends the process',
    };
    try {
      flush();
    } catch {
      // The last line matters most.
    }
    writeLast(`${JSON.stringify(record)}\n`);
    process.exit(1);
  });
  // A closed standard output or error must not end the process.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
}

/** Writes synchronously, because the process is ending. Text that cannot be written in time is lost. */
function writeLast(text: string): void {
  const end = performance.now() + WRITE_TIMEOUT_MILLISECONDS;
  let rest = Buffer.from(text);
  while (rest.length > 0 && performance.now() < end) {
    try {
      rest = rest.subarray(writeSync(2, rest));
    } catch (error) {
      // Only a full pipe is retried. After other errors, no process reads it.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return;
    }
  }
}
