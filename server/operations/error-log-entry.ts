import { REDACTED, redactCardNumbers } from '../../domain/card-number.ts';
import type { ErrorType, MoneyMoved } from '../../domain/catalogue-entry.ts';
import { fromWireId } from '../../domain/identifier.ts';
import type { Cause, Json, LoggedError } from '../store/error.ts';

/** An error answer as it is reported to the error log: what was answered, and all that is known of its request. */
export type ReportedError = {
  /** Inner UUID of the request. */
  readonly requestId: string;
  readonly operation: string | undefined;
  readonly code: string;
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
  readonly method: string | undefined;
  readonly path: string | undefined;
  /** Inner UUID. */
  readonly programId: string | undefined;
  readonly caller: string | undefined;
  readonly moneyMoved: MoneyMoved | undefined;
  /** Id on the wire. */
  readonly transferId: string | undefined;
  readonly saw: Readonly<Record<string, string | number | boolean | null>> | undefined;
  readonly field: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly members: Readonly<Record<string, unknown>> | undefined;
  /** Path parameters, where they are known. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly cause: unknown;
};

/** An entry of the error log, ready to be kept anywhere, and about how many bytes of memory it takes. */
export type LogEntry = { readonly error: LoggedError; readonly bytes: number };

/** Characters of one text at most: the longest member that an operation takes is a quarter of it. */
const TEXT_MOST = 2_000;

/** Characters of all of a request together at most; what is beyond is left out, and says so. */
const REQUEST_MOST = 16_000;

const STACK_MOST = 4_000;

/** Links of a chain of causes at most. */
const CAUSES_MOST = 6;

const LEFT_OUT = '[left out]';

/**
 * An API key, also one that was mistyped or cut short, or of which long numbers were masked already: whatever follows
 * the prefix goes with it.
 */
const KEY = /(?<![0-9a-z])ts_(?:[^\s"'\\/?&,;<>]{16,}|[0-9a-f]{6,})/gi;
const BEARER = /\bBearer\s+[\w.~+/=-]+/gi;

/** How a key, or what introduces one, can be told from far. */
const MARKS = /ts_|bearer/i;

/** Memory of an entry beside its texts, in bytes. */
const FIXED_BYTES = 600;

/**
 * What the error log keeps of a reported error. Nothing gets further than this that looks like a card number or an API
 * key, in whatever part of the report it stood. Never throws. Without `stacks` the causes are kept without theirs.
 */
export function logEntryOf(report: ReportedError, stacks = true): LogEntry {
  const budget = { left: REQUEST_MOST };
  const { members, parameters = {}, saw } = report;
  const request = members === undefined && Object.keys(parameters).length === 0 ? null : { ...parameters, ...members };
  const message = clean(report.message);
  const causes = report.cause === undefined || report.cause === null ? [] : causesOf(report.cause, stacks);
  const error: LoggedError = {
    requestId: report.requestId,
    programId: report.programId ?? null,
    caller: report.caller ?? null,
    operation: report.operation ?? null,
    code: report.code,
    status: report.status,
    type: report.type,
    message,
    method: cleanOrNull(report.method),
    path: report.path === undefined ? null : cleanPath(report.path),
    field: cleanOrNull(report.field),
    idempotencyKey: cleanOrNull(report.idempotencyKey),
    cardName: cardOf(saw?.card_id ?? members?.card_id ?? parameters.card_id),
    transferId: report.transferId === undefined ? null : (fromWireId('tr', report.transferId) ?? null),
    moneyMoved: report.moneyMoved ?? null,
    request: request === null ? null : cleanJson(request, budget, 3),
    checks: saw === undefined ? null : cleanJson(saw, budget, 1),
    causes,
  };
  const texts = message.length + REQUEST_MOST - budget.left + causes.reduce((sum, cause) => sum + sizeOf(cause), 0);
  return { error, bytes: FIXED_BYTES + texts };
}

/** Text without what must not be kept, without what PostgreSQL cannot store, and not too long. */
function clean(text: string, most = TEXT_MOST): string {
  // A little more than is kept: a number at the very end is seen whole before it is cut.
  const considered = text.length > most ? text.slice(0, most + 100) : text;
  let cleaned = redactCardNumbers(considered);
  if (MARKS.test(cleaned)) cleaned = cleaned.replaceAll(KEY, REDACTED).replaceAll(BEARER, `Bearer ${REDACTED}`);
  if (cleaned.includes('\0')) cleaned = cleaned.replaceAll('\0', '\ufffd');
  if (!cleaned.isWellFormed()) cleaned = cleaned.toWellFormed();
  return cleaned.length > most ? `${cleaned.slice(0, most)}…` : cleaned;
}

function cleanOrNull(text: string | undefined): string | null {
  return text === undefined ? null : clean(text);
}

/** A path may hold escapes: what they stand for counts. */
function cleanPath(path: string): string {
  if (!path.includes('%')) return clean(path);
  try {
    const decoded = decodeURIComponent(path);
    return clean(decoded) === decoded ? clean(path) : clean(decoded);
  } catch {
    return clean(path);
  }
}

function cardOf(name: unknown): string | null {
  return typeof name === 'string' ? clean(name, 255) : null;
}

function cleanJson(value: unknown, budget: { left: number }, depth: number): Json {
  if (value === null || typeof value === 'boolean') return value;
  if (budget.left <= 0) return LEFT_OUT;
  if (typeof value === 'number' && Number.isFinite(value) && Math.abs(value) < 1e12) return value;
  if (typeof value !== 'object') {
    const text = clean(String(value));
    budget.left -= text.length + 2;
    return text;
  }
  if (isAmount(value)) return cleanJson(value.source, budget, depth);
  if (depth === 0) return LEFT_OUT;
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => cleanJson(item, budget, depth - 1));
  const cleaned: Record<string, Json> = {};
  for (const [name, member] of Object.entries(value)) {
    const shown = clean(name, 100);
    budget.left -= shown.length + 8;
    cleaned[shown] = cleanJson(member, budget, depth - 1);
  }
  return cleaned;
}

/** An amount as it was sent: what the caller wrote is what is of interest. */
function isAmount(value: object): value is { readonly source: string } {
  return 'source' in value && 'quoted' in value && typeof value.source === 'string';
}

/** The chain of causes, the outermost first. */
function causesOf(thrown: unknown, stacks: boolean): readonly Cause[] {
  const causes: Cause[] = [];
  const seen = new Set<unknown>();
  const waiting: unknown[] = [thrown];
  while (waiting.length > 0 && causes.length < CAUSES_MOST) {
    const next = waiting.shift();
    if (seen.has(next)) continue;
    seen.add(next);
    try {
      causes.push(causeOf(next, stacks));
      if (next instanceof AggregateError) waiting.push(...next.errors);
      if (next instanceof Error && next.cause !== undefined && next.cause !== null) waiting.push(next.cause);
    } catch {
      // Anything can be thrown, also what throws when it is looked at.
      causes.push({ name: 'unknown', message: 'What was thrown cannot be read.', stack: null });
    }
  }
  return causes;
}

function causeOf(thrown: unknown, stacks: boolean): Cause {
  if (!(thrown instanceof Error)) return { name: typeof thrown, message: clean(String(thrown)), stack: null };
  const { code } = thrown as { readonly code?: unknown };
  const said = typeof code === 'string' ? `${thrown.message} (${code})`.trim() : thrown.message;
  return { name: clean(thrown.name, 100), message: clean(said), stack: stacks ? stackOf(thrown) : null };
}

/** The frames; the lines above them repeat name and message. */
function stackOf({ stack = '' }: Error): string | null {
  const frames = stack.search(/^ {4}at /m);
  return frames === -1 ? null : clean(stack.slice(frames), STACK_MOST);
}

function sizeOf({ message, stack }: Cause): number {
  return message.length + (stack?.length ?? 0);
}
