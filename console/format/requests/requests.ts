import type { LoggedErrorRecord, RequestRecord } from '../../../sdk/client.ts';
import { moneySentence } from '../money-moved.ts';

/**
 * An error as a request, for callers who see the errors of their own card program and nothing else of a request: whether
 * it has created something all the same is not known here.
 */
export function toShownRequest(error: LoggedErrorRecord): RequestRecord {
  const { request_id, created_at, operation, idempotency_key, status, code, message } = error;
  const money_moved = error.money_moved ?? 'no';
  const what = status < 500 ? 'was refused' : 'failed';
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
    summary: `${operation ?? 'The request'} ${what} with ${code}: ${message}${/[.!?]$/.test(message) ? '' : '.'}${says}`,
    error: { ...error, program_id: null, caller: null, checks: null, causes: [] },
    transfers: [],
    transfer_count: 0,
    reversals: [],
    events: [],
    audit_entries: [],
    complete: true,
  };
}

/** A value of a check or of a request as text: texts as they are, and what has parts as JSON. */
export function textOfValue(value: unknown): string {
  if (value === null) return 'none';
  return typeof value === 'object' ? JSON.stringify(value, null, 1) : String(value);
}

/** What a ticket needs of a request, as text. `origin` is the address of the service, for the link. */
export function ticketOf(record: RequestRecord, origin: string): string {
  const { error, transfers, reversals } = record;
  const lines = [
    record.summary,
    '',
    `Request: ${record.request_id}`,
    `Received: ${record.received_at}`,
    `Operation: ${record.operation ?? 'not known'}`,
    record.program_id !== null && `Card program: ${record.program_id}`,
    record.caller !== null && `Caller: ${record.caller}`,
    record.idempotency_key !== null && `Idempotency key: ${record.idempotency_key}`,
    error !== null && `Error: ${error.status} ${error.code}`,
    error !== null && `Message: ${error.message}`,
    error !== null && error.field !== null && `Field: ${error.field}`,
    error !== null && error.card_id !== null && `Card: ${error.card_id}`,
    error !== null && error.checks !== null && `What the check saw: ${JSON.stringify(error.checks)}`,
    ...transfers.map(({ transfer_id, status }) => `Transfer: ${transfer_id}, ${status}`),
    ...reversals.map(({ reversal_id }) => `Reversal: ${reversal_id}`),
    `${origin}/console/request/${record.request_id}`,
  ];
  return lines.filter((line) => typeof line === 'string').join('\n');
}
