import pino from 'pino';
import type { LogLevel } from './config.ts';
import { jsonWithoutSecrets, withoutSecrets } from './redaction.ts';

/** Characters of the members of one record, at most, and how deep they are looked into. */
const RECORD_MOST = 32_000;
const DEPTH_MOST = 6;

/** Bytes that wait while standard error takes nothing, at most: some thousands of records. */
const WAITING_MOST = 1_048_576;

/**
 * The log of the process: one JSON object a line, on standard error. Whatever is given to it is redacted before it is
 * serialised, at every level, so that no caller of it has to think of it.
 *
 * A log that cannot be written, because the disk under it is full, its reader has gone or has stopped reading, stops
 * nothing: records wait for a reader, up to a bound, and are dropped then; those for a full disk are dropped at once.
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

/** The stream of Node, since it never waits: a write to the file descriptor would, for a reader that stands still. */
const STANDARD_ERROR = {
  write(line: string): void {
    if (process.stderr.writableLength < WAITING_MOST) process.stderr.write(line);
  },
};

function redacted(given: unknown): unknown {
  try {
    if (typeof given === 'string') return withoutSecrets(given);
    const members = jsonWithoutSecrets(given, { left: RECORD_MOST }, DEPTH_MOST);
    return given instanceof Error ? { causes: members } : members;
  } catch {
    // Anything can be given, also what throws when it is looked at.
    return { unreadable: true };
  }
}
