import {
  type LoggedErrorRecord,
  OPERATIONS,
  type OperationId,
  type ProgramRequestRecord,
  type RequestRecord,
} from '../../../sdk/client.ts';
import { sentenceCase } from '../names.ts';

/**
 * Turns an error into a request, for callers who can read the errors of their card program but not its requests. The error does
 * not show what else the request has created.
 */
export function toShownRequest(error: LoggedErrorRecord): RequestRecord {
  const { request_id, created_at, operation, idempotency_key, status, message } = error;
  const money_moved = error.money_moved ?? 'no';
  const says = /no money (?:was |has )?moved/i.test(message) ? '' : ` ${moneySentence(money_moved)}`;
  return {
    request_id,
    received_at: created_at,
    operation,
    program_id: null,
    caller: error.key_id,
    idempotency_key,
    outcome: 'failed',
    status,
    money_moved,
    summary: `${verdictOf(error)} ${message}${/[.!?]$/.test(message) ? '' : '.'}${says}`,
    error: { ...error, program_id: null, caller: null, checks: null, causes: [] },
    transfers: [],
    transfer_count: 0,
    reversals: [],
    events: [],
    audit_entries: [],
    complete: true,
  };
}

/** Returns a request as its card program sees it, without the fields for operators. */
export function ofProgram({ error, ...record }: ProgramRequestRecord): RequestRecord {
  const { program_id } = record;
  const shown = error === null ? null : { ...error, program_id, caller: null, checks: null, causes: [] };
  return { ...record, error: shown, audit_entries: [] };
}

/**
 * Describes an error in a few words, as get_request does: `Declined: insufficient funds.` Requests that don't move money are
 * `Refused`.
 */
export function verdictOf({
  operation,
  status,
  code,
}: Pick<LoggedErrorRecord, 'operation' | 'status' | 'code'>): string {
  if (status >= 500) return 'Failed:';
  const why = code.endsWith('_schema') ? 'invalid request' : code.replaceAll('_', ' ');
  const movesMoney = OPERATIONS[operation as OperationId]?.movesMoney === true;
  return `${movesMoney ? 'Declined' : 'Refused'}: ${why}.`;
}

/**
 * Returns a title that says what a request was and how it ended: `Create transfer: insufficient funds`. A code such as
 * `unknown_create_transfer` is left out, because it only repeats the operation.
 */
export function titleOf({
  operation,
  outcome,
  money_moved: moved,
  error,
}: Pick<RequestRecord, 'operation' | 'outcome' | 'money_moved'> & {
  readonly error: Pick<LoggedErrorRecord, 'code'> | null;
}): string {
  const what = operation === null ? 'Request' : sentenceCase(operation.replaceAll('_', ' '));
  const isNamed = error !== null && error.code !== `unknown_${operation}`;
  const result = moved === 'unknown' ? 'outcome unknown' : outcome;
  return `${what}: ${(isNamed ? error.code : result).replaceAll('_', ' ')}`;
}

/** Returns everything that a ticket needs about a request, as text. `origin` is the address of the service, for the link. */
export function ticketOf(record: RequestRecord, origin: string): string {
  const { error, transfers, reversals } = record;
  const lines = [
    record.summary,
    '',
    `Request: ${record.request_id}`,
    `Received: ${record.received_at}`,
    `Operation: ${record.operation ?? 'unknown'}`,
    record.program_id !== null && `Card program: ${record.program_id}`,
    record.caller !== null && `Caller: ${record.caller}`,
    record.idempotency_key !== null && `Idempotency key: ${record.idempotency_key}`,
    error !== null && `Error: ${error.status} ${error.code}`,
    error !== null && `Message: ${error.message}`,
    error !== null && error.field !== null && `Field: ${error.field}`,
    error !== null && error.card_id !== null && `Card: ${error.card_id}`,
    error !== null && error.checks !== null && `Values at the time: ${JSON.stringify(error.checks)}`,
    ...transfers.map(({ transfer_id, status }) => `Transfer: ${transfer_id}, ${status}`),
    ...reversals.map(({ reversal_id }) => `Reversal: ${reversal_id}`),
    `${origin}/console/request/${record.request_id}`,
  ];
  return lines.filter((line) => typeof line === 'string').join('\n');
}

/** Says in one sentence whether a failed call moved money. */
export function moneySentence(moneyMoved: 'no' | 'yes' | 'unknown'): string {
  if (moneyMoved === 'no') return 'No money moved.';
  if (moneyMoved === 'yes') return 'Money moved.';
  return 'It is not known whether money moved. Send the same request again: with the same idempotency key it moves money at most once.';
}
