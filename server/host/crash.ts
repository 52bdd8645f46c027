import { writeSync } from 'node:fs';
import { causesOf } from '../foundation/redaction.ts';
import type { LogEvent } from '../observe/log/log-events.ts';

/** Maximum time for writing the last record if the reader of standard error is slow. */
const WRITE_TIMEOUT_MILLISECONDS = 500;

/** Pino's number for the level `fatal`. */
const FATAL = 60;

/**
 * Ends the process on an uncaught exception, with status 1. First it calls `flush`, to write the waiting lines. Then it writes
 * one redacted record to standard error, at every log level. Node would print all properties of the error, but PostgreSQL's
 * errors quote rows, and URL errors quote the password.
 *
 * The process cannot continue, because its state is undefined. Transactions in progress roll back or have committed. Callers
 * find out the outcome with their idempotency keys, as after any crash.
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
      // Ignored, because writing the last line is more important.
    }
    writeLast(`${JSON.stringify(record)}\n`);
    process.exit(1);
  });
  // The process must not end because standard output or standard error was closed.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
}

/** Writes synchronously, because the process is about to end. Text that cannot be written in time is lost. */
function writeLast(text: string): void {
  const end = performance.now() + WRITE_TIMEOUT_MILLISECONDS;
  let rest = Buffer.from(text);
  while (rest.length > 0 && performance.now() < end) {
    try {
      rest = rest.subarray(writeSync(2, rest));
    } catch (error) {
      // Only a full pipe is tried again. Any other error means that no process reads it.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return;
    }
  }
}
