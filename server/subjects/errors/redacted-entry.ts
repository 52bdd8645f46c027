import type { ErrorType } from '../../../contract/errors/record.ts';
import { REDACTED } from '../../../domain/cards/card-number.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { isOfLedger, type MoneyMoved, type Seen, shownSeen } from '../../../domain/refusal.ts';
import { type Cause, causesOf, type Json, jsonWithoutSecrets, withoutSecrets } from '../../foundation/redaction.ts';
import type { LoggedError } from '../../store/error.ts';

/** An error response for the error log, with the known facts about its request. */
export type ReportedError = {
  readonly requestId: string;
  readonly operation: string | undefined;
  readonly code: string;
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
  /** The caller's address. It counts towards the budget of unauthenticated errors, and is not stored. */
  readonly address?: string | undefined;
  readonly method: string | undefined;
  readonly path: string | undefined;
  /** Inner UUID. */
  readonly programId: string | undefined;
  readonly caller: string | undefined;
  /** Inner UUID. */
  readonly keyId?: string | undefined;
  readonly moneyMoved: MoneyMoved | undefined;
  /** Id on the wire. */
  readonly transferId: string | undefined;
  readonly saw: Seen | undefined;
  readonly field: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly cause: unknown;
  /** The trace of the request, if the caller sent a valid one. It was checked when it was read. */
  readonly traceparent?: string | undefined;
};

/** An entry of the error log, safe to store, and its approximate size in memory. */
export type LogEntry = { readonly error: LoggedError; readonly bytes: number };

/** Maximum number of characters in all fields of a request together. A marker replaces the rest. */
export const MAX_REQUEST_LENGTH = 16_000;

/** Approximate memory of an entry, not counting its strings. */
const FIXED_BYTES = 600;

/**
 * Returns the error log entry for a reported error. Anything that looks like a card number or an API key is redacted in every part
 * of the report. Never throws. If `stacks` is false, the causes have no stacks.
 */
export function redactedEntryOf(report: ReportedError, stacks = true): LogEntry {
  const budget = { left: MAX_REQUEST_LENGTH };
  const { fields, parameters = {}, saw } = report;
  const request =
    fields === undefined && Object.keys(parameters).length === 0
      ? null
      : { ...parameters, ...withoutSearchedTexts(report.operation, withoutHeaderValues(fields)) };
  const message = withoutSecrets(report.message);
  const causes = report.cause === undefined || report.cause === null ? [] : causesOf(report.cause, stacks);
  const error: LoggedError = {
    requestId: report.requestId,
    programId: report.programId ?? null,
    caller: report.caller ?? null,
    keyId: report.keyId ?? null,
    operation: report.operation ?? null,
    code: report.code,
    status: report.status,
    type: report.type,
    message,
    method: cleanOrNull(report.method),
    path: report.path === undefined ? null : cleanPath(report.path),
    field: cleanOrNull(report.field),
    idempotencyKey: cleanOrNull(report.idempotencyKey),
    cardName: cardOf(saw?.card_id ?? fields?.card_id ?? parameters.card_id),
    transferId: report.transferId === undefined ? null : (fromWireId('tr', report.transferId) ?? null),
    moneyMoved: report.moneyMoved ?? null,
    request: request === null ? null : jsonWithoutSecrets(request, budget, 3),
    checks: saw === undefined ? null : checksOf(saw, budget),
    traceparent: report.traceparent ?? null,
    causes,
  };
  const texts =
    message.length + MAX_REQUEST_LENGTH - budget.left + causes.reduce((sum, cause) => sum + sizeOf(cause), 0);
  return { error, bytes: FIXED_BYTES + texts };
}

/**
 * Returns the values that the check used. Numbers of the ledger are not redacted, although a balance may look like a card number.
 */
function checksOf(saw: Seen, budget: { left: number }): Json {
  return Object.fromEntries(
    Object.entries(saw).map(([name, value]): [string, Json] => {
      const shown = shownSeen(value);
      return [name, isOfLedger(value) ? shown : jsonWithoutSecrets(shown, budget, 0)];
    }),
  );
}

/** Redacts the values of a webhook's headers, because any of them may be secret. */
function withoutHeaderValues(fields: ReportedError['fields']): ReportedError['fields'] {
  if (typeof fields?.headers !== 'object' || fields.headers === null) return fields;
  return { ...fields, headers: Object.fromEntries(Object.keys(fields.headers).map((name) => [name, REDACTED])) };
}

const PAIR = ['metadata_name', 'metadata_value'];

const TEXTS = ['text', 'contact', 'external_author'];

/**
 * Fields, by operation, that may contain data about the holder of a card, or the processor's token of a card. `''` applies
 * to all other operations.
 */
const SEARCHED: Readonly<Record<string, readonly string[]>> = {
  create_card: ['processor_token', ...PAIR],
  search: ['q'],
  list_cards: ['holder_reference', 'last_four', ...PAIR],
  create_case: TEXTS,
  reply_to_case: TEXTS,
  answer_case: TEXTS,
  answer_sandbox_case: TEXTS,
  resolve_case: TEXTS,
  resolve_attempt: ['note'],
  close_break: ['note'],
  withdraw_settlement_file: ['note'],
  // One request has the lines of many cards, and its error names none of them.
  add_move_in_lines: ['lines'],
  undo_move_in: ['note'],
  cut_over: ['note'],
  close_day: ['note'],
  '': PAIR,
};

/**
 * Redacts search terms, text that people write in a case or a note, the processor's token of a card, and the lines of a move-in.
 * They do not name a card, so the erasure of a card holder could not find them.
 */
function withoutSearchedTexts(operation = '', fields: ReportedError['fields']): ReportedError['fields'] {
  if (fields === undefined) return undefined;
  const searched = (SEARCHED[operation] ?? SEARCHED[''] ?? []).filter((name) => Object.hasOwn(fields, name));
  return { ...fields, ...Object.fromEntries(searched.map((name) => [name, REDACTED])) };
}

function cleanOrNull(text: string | undefined): string | null {
  return text === undefined ? null : withoutSecrets(text);
}

/** Redacts secrets in a path, including percent-encoded ones. */
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
