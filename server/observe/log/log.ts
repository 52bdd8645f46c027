import pino from 'pino';
import type { Configuration } from '../../foundation/configuration/configuration.ts';
import { jsonWithoutSecrets, withoutSecrets } from '../../foundation/redaction.ts';
import { LineWriter } from './line-writer.ts';
import type { LogEvent } from './log-events.ts';
import { asText } from './text-lines.ts';

/** Maximum characters and depth of the fields of one record. */
const MAX_RECORD_LENGTH = 32_000;
const MAX_DEPTH = 6;

/** What a line is about, and its values. */
type LogFields = { readonly event: LogEvent } & Readonly<Record<string, unknown>>;

/** Writes a line, with a sentence for people. */
type WriteLine = (fields: LogFields, sentence: string) => void;

/** The log of the process. */
export type Log = { readonly error: WriteLine; readonly warn: WriteLine; readonly info: WriteLine };

/** The lines of the process on standard error. */
export const STANDARD_ERROR = new LineWriter(process.stderr);

/** Writes the lines of the process in a format; `auto` is text where standard error is a terminal. */
export function chooseLogFormat(format: Configuration['logFormat']): void {
  const { stderr } = process;
  if (format === 'text' || (format === 'auto' && stderr.isTTY)) {
    STANDARD_ERROR.renderWith((lines) => asText(lines, stderr));
  }
}

/**
 * Opens the log of the process: one JSON object per line on standard error, or what {@link chooseLogFormat} makes of
 * it. All values are redacted before they are serialised, at every level.
 *
 * A log that cannot be written never blocks the service, see {@link LineWriter}.
 */
export function openLog(level: Configuration['logLevel'], lines: LineWriter = STANDARD_ERROR): pino.Logger & Log {
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
    lines,
  );
}

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
