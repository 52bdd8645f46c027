import { REDACTED, redactCardNumbers, withoutUrlEncoding } from '../../domain/cards/card-number.ts';
import { maskLongNumbers } from '../../domain/cards/masked-text.ts';
import { withoutUrlCredentials } from './url-credentials.ts';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** A link in the chain of causes, outermost first. `stack` contains only the frames. */
export type Cause = { readonly name: string; readonly message: string; readonly stack: string | null };

/** Maximum length of redacted text, in characters. The longest field of any operation is a quarter of this. */
export const MAX_TEXT_LENGTH = 2_000;

const MAX_STACK_LENGTH = 4_000;

const MAX_CAUSES = 6;

const OMITTED = '[omitted]';

/** An API key, even if it is mistyped, truncated or partly masked. Everything after the prefix is redacted. */
const KEY = /(?<![0-9a-z])ts_(?:[^\s"'\\/?&,;<>]{16,}|[0-9a-f]{6,})/gi;
const WEBHOOK_SECRET = /whsec_[\w+/=-]{8,}/gi;
const BEARER = /\bBearer\s+[\w.~+/=-]+/gi;

/** A value that follows the word "password" and a separator. */
const PASSWORD = /(password["']?\s{0,9}[=:]\s{0,9}["']?)[^\s&"']+/gi;

/** Quick check for whether some text may contain a key or a password. */
const MARKS = /ts_|bearer|whsec_/i;
const PASSWORD_MARK = /password/i;

/**
 * Returns text without card numbers, API keys, passwords and characters that PostgreSQL cannot store, truncated to `most`
 * characters. The result is safe for the error log and the log of the process.
 */
export function withoutSecrets(text: string, most = MAX_TEXT_LENGTH): string {
  // Slightly more text than the result needs, so that a number at its end is redacted before the text is cut.
  const considered = text.length > most ? text.slice(0, 2 * (most + 100)) : text;
  let cleaned = redactEncoded(redactCardNumbers(considered));
  if (MARKS.test(cleaned)) {
    cleaned = cleaned.replaceAll(KEY, REDACTED).replaceAll(WEBHOOK_SECRET, REDACTED);
    cleaned = cleaned.replaceAll(BEARER, `Bearer ${REDACTED}`);
  }
  cleaned = withoutUrlCredentials(cleaned);
  if (PASSWORD_MARK.test(cleaned)) cleaned = cleaned.replaceAll(PASSWORD, `$1${REDACTED}`);
  if (cleaned.includes('\0')) cleaned = cleaned.replaceAll('\0', '\ufffd');
  if (!cleaned.isWellFormed()) cleaned = cleaned.toWellFormed();
  return truncated(cleaned, most);
}

/** Returns the first characters of a string. An emoji is one character, although it takes two units of a JavaScript string. */
function truncated(text: string, most: number): string {
  if (text.length <= most) return text;
  let count = 0;
  let end = 0;
  for (const character of text) {
    if (count === most) return `${text.slice(0, end)}…`;
    count += 1;
    end += character.length;
  }
  return text;
}

/** Redacts encoded card numbers in URLs. If a URL contains one, it is shown decoded. */
function redactEncoded(text: string): string {
  if (!/[%+]/.test(text)) return text;
  const plain = withoutUrlEncoding(text);
  const redacted = redactCardNumbers(plain);
  return redacted === plain ? text : redacted;
}

/**
 * Converts a value to JSON, and removes secrets from all of its strings as {@link withoutSecrets} does. `budget` limits the total
 * number of characters, and `depth` limits the nesting. A marker replaces the rest. Errors are replaced by their causes. Their
 * other properties are omitted, because PostgreSQL's errors quote rows.
 */
export function jsonWithoutSecrets(value: unknown, budget: { left: number }, depth: number): Json {
  if (value === null || typeof value === 'boolean') return value;
  if (budget.left <= 0) return OMITTED;
  if (typeof value === 'number' && Number.isFinite(value) && Math.abs(value) < 1e12) return value;
  if (typeof value !== 'object') {
    const text = withoutSecrets(String(value));
    budget.left -= text.length + 2;
    return text;
  }
  if (isAmount(value)) return jsonWithoutSecrets(value.source, budget, depth);
  if (value instanceof Error) return causesOf(value, true);
  if (depth === 0) return OMITTED;
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => jsonWithoutSecrets(item, budget, depth - 1));
  // If an object has no prototype, `__proto__` is a name like any other.
  const cleaned: Record<string, Json> = Object.create(null);
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const shown = withoutSecrets(name, 100);
    budget.left -= shown.length + 8;
    cleaned[shown] = jsonWithoutSecrets(member, budget, depth - 1);
  }
  return cleaned;
}

/** Returns whether a value is an amount. Amounts are shown as sent. */
function isAmount(value: object): value is { readonly source: string } {
  return 'source' in value && 'quoted' in value && typeof value.source === 'string';
}

/** Returns the chain of causes of an error, outermost first: names, messages and stacks, without secrets. */
export function causesOf(thrown: unknown, stacks: boolean): readonly Cause[] {
  const causes: Cause[] = [];
  const seen = new Set<unknown>();
  const waiting: unknown[] = [thrown];
  while (waiting.length > 0 && causes.length < MAX_CAUSES) {
    const next = waiting.shift();
    if (seen.has(next)) continue;
    seen.add(next);
    try {
      causes.push(causeOf(next, stacks));
      if (next instanceof AggregateError) waiting.push(...next.errors);
      if (next instanceof Error && next.cause !== undefined && next.cause !== null) waiting.push(next.cause);
    } catch {
      // Any value can be thrown, even one whose properties throw when they are read.
      causes.push({ name: 'unknown', message: 'The thrown value cannot be read.', stack: null });
    }
  }
  return causes;
}

function causeOf(thrown: unknown, stacks: boolean): Cause {
  if (!(thrown instanceof Error)) return { name: typeof thrown, message: withoutSecrets(String(thrown)), stack: null };
  const { code } = thrown as { readonly code?: unknown };
  const said = typeof code === 'string' ? `${thrown.message} (${code})`.trim() : thrown.message;
  return {
    name: withoutSecrets(thrown.name, 100),
    message: withoutSecrets(said),
    stack: stacks ? stackOf(thrown) : null,
  };
}

/** Returns only the frames. The lines above them repeat name and message. */
function stackOf({ stack = '' }: Error): string | null {
  const frames = stack.search(/^ {4}at /m);
  return frames === -1 ? null : withoutSecrets(stack.slice(frames), MAX_STACK_LENGTH);
}

/**
 * Masks the long numbers of a path, even if the path is escaped once or several times. A path without such numbers is returned
 * unchanged.
 */
export function maskPath(path: string): string {
  const decoded = path.replaceAll(/%(?:25)*([2-7][0-9a-f])/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  const shown = maskLongNumbers(decoded);
  return shown === decoded ? path : shown;
}
