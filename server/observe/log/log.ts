import { styleText } from 'node:util';
import pino from 'pino';
import { parseJson } from '../../../domain/parse-json.ts';
import { printable } from '../../../domain/printable-text.ts';
import type { Configuration } from '../../foundation/configuration/configuration.ts';
import { jsonWithoutSecrets, withoutSecrets } from '../../foundation/redaction.ts';
import { LineWriter } from './line-writer.ts';
import type { LogEvent } from './log-events.ts';

/** Limits for the number of characters and the depth of the fields of one record. */
const MAX_RECORD_LENGTH = 32_000;
const MAX_DEPTH = 6;

type LogFields = { readonly event: LogEvent } & Readonly<Record<string, unknown>>;

type WriteLine = (fields: LogFields, sentence: string) => void;

export type Log = { readonly error: WriteLine; readonly warn: WriteLine; readonly info: WriteLine };

export const STANDARD_ERROR = new LineWriter(process.stderr);

/** Sets the format of the process's lines. `auto` is text if standard error is a terminal. */
export function chooseLogFormat(format: Configuration['logFormat']): void {
  const { stderr } = process;
  if (format === 'text' || (format === 'auto' && stderr.isTTY)) {
    STANDARD_ERROR.renderWith((lines) => asText(lines, stderr));
  }
}

/**
 * Opens the log of the process: one JSON object per line on standard error, or the format of {@link chooseLogFormat}. All values
 * are redacted before they are serialized, at every level.
 *
 * A log that cannot be written does not block the service: see {@link LineWriter}.
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

/** The name of each level, by pino's number, and a color for levels that need attention. */
const LEVELS: Readonly<Record<number, readonly [name: string, color: Parameters<typeof styleText>[0] | undefined]>> = {
  10: ['trace', undefined],
  20: ['debug', undefined],
  30: ['info', undefined],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
};

type LogRecord = {
  readonly level: number;
  readonly time: string;
  readonly event: string;
  readonly msg?: string;
} & Readonly<Record<string, unknown>>;

/**
 * Returns lines of the log for people: the time, the level, the event, the sentence, and the other fields as `name=value`. The
 * lines are colored if `stream` is a terminal with colors.
 */
export function asText(lines: string, stream: NodeJS.WritableStream): string {
  return lines
    .split('\n')
    .map((line) => (line.startsWith('{') ? textOf(line, stream) : line))
    .join('\n');
}

function textOf(line: string, stream: NodeJS.WritableStream): string {
  const { level, time, event, msg, ...fields } = parseJson(line) as LogRecord;
  const [name, color] = LEVELS[level] ?? [String(level), undefined];
  const shownLevel = name.padEnd(5);
  const parts = [
    styleText('dim', time, { stream }),
    color === undefined ? shownLevel : styleText(color, shownLevel, { stream }),
    msg === undefined ? event : `${event}: ${printable(msg)}`,
    ...Object.entries(fields).map(([field, value]) => `${field}=${shownValue(value)}`),
  ];
  return parts.join(' ');
}

/** Returns a value as text. Text without blanks stays unchanged, and everything else is JSON. */
function shownValue(value: unknown): string {
  return typeof value === 'string' && /^[!-~]+$/.test(value) ? value : printable(JSON.stringify(value));
}

/**
 * If no request has failed because of the database for this long, the outage is over, and the next failure is logged in
 * full again.
 */
const QUIET_MILLISECONDS = 10_000;

const COUNT_MILLISECONDS = 1_000;

type FaultFields = Readonly<Record<string, unknown>> & { readonly requestId: string };

/**
 * Creates the function that logs faults. Usually, each fault has its own line with its causes. While the database is unavailable,
 * only the first fault has a line, and the others are counted once a second. The error log contains each of them.
 */
export function openFaultLog(
  log: Pick<Log, 'error'>,
): (fields: FaultFields, message: string, isOutage: boolean) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  let first = '';
  let count = 0;
  const tell = (): void => {
    const requests = count === 1 ? 'request' : 'requests';
    log.error(
      { event: 'server_errors', count, firstRequestId: first },
      `${count} more ${requests} failed within a second because the database is unavailable; the error log has each`,
    );
    count = 0;
  };
  return (fields, message, isOutage) => {
    const isFirst = performance.now() - lastAt > QUIET_MILLISECONDS;
    if (isOutage) lastAt = performance.now();
    if (!isOutage || isFirst) {
      if (isOutage) first = fields.requestId;
      log.error({ event: 'server_error', ...fields }, message);
      return;
    }
    if (count === 0) setTimeout(tell, COUNT_MILLISECONDS).unref();
    count += 1;
  };
}
