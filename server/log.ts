import pino from 'pino';
import type { LogLevel } from './configuration/settings.ts';
import { jsonWithoutSecrets, withoutSecrets } from './redaction.ts';

/** Maximum characters and depth of the fields of one record. */
const MAX_RECORD_LENGTH = 32_000;
const MAX_DEPTH = 6;

/** Maximum bytes buffered while standard error is blocked: some thousands of records. */
const MAX_BUFFERED_BYTES = 1_048_576;

/**
 * The log of the process: one JSON object per line on standard error. All values are redacted before they are serialised,
 * at every level.
 *
 * A log that cannot be written never blocks the service: records are buffered up to a limit while the reader is slow, then
 * dropped; with a full disk they are dropped at once.
 */
export function openLog(level: LogLevel): pino.Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      hooks: {
        logMethod(given, write) {
          write.apply(this, given.map(redacted) as typeof given);
        },
      },
    },
    STANDARD_ERROR,
  );
}

/** Node's stream never blocks; writing to the file descriptor would block while the reader does not read. */
const STANDARD_ERROR = {
  write(line: string): void {
    if (process.stderr.writableLength < MAX_BUFFERED_BYTES) process.stderr.write(line);
  },
};

function redacted(given: unknown): unknown {
  try {
    if (typeof given === 'string') return withoutSecrets(given);
    const members = jsonWithoutSecrets(given, { left: MAX_RECORD_LENGTH }, MAX_DEPTH);
    return given instanceof Error ? { causes: members } : members;
  } catch {
    // A value may throw when its properties are read.
    return { unreadable: true };
  }
}
