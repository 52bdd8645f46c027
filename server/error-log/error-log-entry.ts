import type { ErrorType, MoneyMoved } from '../../domain/catalogue-entry.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { causesOf, jsonWithoutSecrets, withoutSecrets } from '../redaction.ts';
import type { Cause, LoggedError } from '../store/error.ts';

/** An error answer as it is reported to the error log: what was answered, and all that is known of its request. */
export type ReportedError = {
  /** Inner UUID of the request. */
  readonly requestId: string;
  readonly operation: string | undefined;
  readonly code: string;
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
  /** Where it came from. It decides whether the error is recorded, and is not kept. */
  readonly address?: string | undefined;
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

/** Characters of all of a request together at most; what is beyond is left out, and says so. */
const REQUEST_MOST = 16_000;

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
  const message = withoutSecrets(report.message);
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
    request: request === null ? null : jsonWithoutSecrets(request, budget, 3),
    checks: saw === undefined ? null : jsonWithoutSecrets(saw, budget, 1),
    causes,
  };
  const texts = message.length + REQUEST_MOST - budget.left + causes.reduce((sum, cause) => sum + sizeOf(cause), 0);
  return { error, bytes: FIXED_BYTES + texts };
}

function cleanOrNull(text: string | undefined): string | null {
  return text === undefined ? null : withoutSecrets(text);
}

/** A path may hold escapes: what they stand for counts. */
function cleanPath(path: string): string {
  if (!path.includes('%')) return withoutSecrets(path);
  try {
    const decoded = decodeURIComponent(path);
    return withoutSecrets(decoded) === decoded ? withoutSecrets(path) : withoutSecrets(decoded);
  } catch {
    return withoutSecrets(path);
  }
}

function cardOf(name: unknown): string | null {
  return typeof name === 'string' ? withoutSecrets(name, 255) : null;
}

function sizeOf({ message, stack }: Cause): number {
  return message.length + (stack?.length ?? 0);
}
