import util from 'node:util';
import type { CardRecord, TransferRecord } from '../sdk/client.ts';

// Text for people is colored while it is composed. The color codes are removed later if the output is not a terminal,
// or if colors are turned off. No meaning depends on color alone. Yellow and cyan are unreadable on white, and blue on
// black.

type Paint = (text: string) => string;
type Format = 'bold' | 'green' | 'magenta' | 'red';

/** Undefined before Node 20.12. */
const styleText = util.styleText as typeof util.styleText | undefined;

function paint(format: Format): Paint {
  return (text) => (text === '' || styleText === undefined ? text : styleText(format, text, { validateStream: false }));
}

/** The style of a heading, or of the sentence of an error. */
export const strong = paint('bold');
/** The style of something that is in order. */
export const good = paint('green');
/** The style of something that waits, or needs attention. */
export const warning = paint('magenta');
/** The style of something that failed, or cannot be used. */
export const bad = paint('red');

/** The color of each status word. Other words have none. */
const TONES: Readonly<Record<string, Paint> & Record<CardRecord['status'] | TransferRecord['status'], Paint>> = {
  ...tone(good, ['active', 'balanced', 'completed', 'current', 'delivered', 'enabled', 'ok', 'passed', 'ready', 'up']),
  ...tone(warning, ['canceled', 'degraded', 'inactive', 'not_evaluated', 'paused', 'pending', 'preactive', 'reversed']),
  ...tone(warning, ['running', 'scheduled', 'Request Error', 'unknown', 'waiting', 'warning']),
  ...tone(bad, ['closed', 'disabled', 'expired', 'failed', 'fraud', 'lost', 'NOT BALANCED', 'problem', 'stolen']),
  ...tone(bad, ['Process Error', 'Server Error']),
};

function tone<const Word extends string>(as: Paint, words: readonly Word[]) {
  return Object.fromEntries(words.map((word) => [word, as])) as Readonly<Record<Word, Paint>>;
}

const STATUS_NAMES: ReadonlySet<string> = new Set(['status', 'outcome', 'state', 'type', 'result', 'severity']);

/** Returns the text of a field, with the color of its word if the field is a status or a type of error. */
export function paintField(name: string, text: string): string {
  if (!STATUS_NAMES.has(name)) return text;
  const word = text.trim();
  return Object.hasOwn(TONES, word) ? text.replace(word, (TONES[word] ?? String)(word)) : text;
}

const CODES = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g');

/** Removes the color codes from a text. */
export function unpainted(text: string): string {
  return text.replaceAll(CODES, '');
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Whether to use colors: on terminals, unless NO_COLOR is set or the terminal is a dumb one. FORCE_COLOR overrides
 * this: 0 and false turn colors off, and any other value turns them on.
 */
export function wantsColor(isTerminal: boolean, { FORCE_COLOR: force, NO_COLOR: no, TERM: term }: Variables): boolean {
  if (force !== undefined) return force !== '0' && force !== 'false';
  return isTerminal && !no && term !== 'dumb';
}
