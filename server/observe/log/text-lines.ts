import { styleText } from 'node:util';
import { parseJson } from '../../../domain/parse-json.ts';
import { printable } from '../../../domain/printable-text.ts';

/** The levels by pino's numbers: a name, and a colour if the level needs attention. */
const LEVELS: Readonly<Record<number, readonly [name: string, colour: Parameters<typeof styleText>[0] | undefined]>> = {
  10: ['trace', undefined],
  20: ['debug', undefined],
  30: ['info', undefined],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
};

/** A line of the log, as JSON.parse returns it. */
type LogRecord = {
  readonly level: number;
  readonly time: string;
  readonly event: string;
  readonly msg?: string;
} & Readonly<Record<string, unknown>>;

/**
 * Lines of the log for people: the time, the level, the event, the sentence, and the other fields as `name=value`, in
 * colours if `stream` is a terminal with colours.
 */
export function asText(lines: string, stream: NodeJS.WritableStream): string {
  return lines
    .split('\n')
    .map((line) => (line.startsWith('{') ? textOf(line, stream) : line))
    .join('\n');
}

function textOf(line: string, stream: NodeJS.WritableStream): string {
  const { level, time, event, msg, ...fields } = parseJson(line) as LogRecord;
  const [name, colour] = LEVELS[level] ?? [String(level), undefined];
  const shownLevel = name.padEnd(5);
  const parts = [
    styleText('dim', time, { stream }),
    colour === undefined ? shownLevel : styleText(colour, shownLevel, { stream }),
    msg === undefined ? event : `${event}: ${printable(msg)}`,
    ...Object.entries(fields).map(([field, value]) => `${field}=${shownValue(value)}`),
  ];
  return parts.join(' ');
}

/** A value: text without blanks unchanged, anything else as JSON. */
function shownValue(value: unknown): string {
  return typeof value === 'string' && /^[!-~]+$/.test(value) ? value : printable(JSON.stringify(value));
}
