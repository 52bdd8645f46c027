import { OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import { MAX_SHOWN_OF_REQUEST, type RequestRecord } from '../../../contract/service/requests.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Call, CallContext, Reply } from '../../calls/call.ts';
import { toInspectedErrorRecord } from '../../calls/records/error.ts';
import { toReversalRecord, toTransferRecord } from '../../calls/records/transfer.ts';
import type { Service } from '../../calls/service.ts';
import { transact } from '../../commit/transaction.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import type { CausedEvent } from '../../store/requests/find-request.ts';
import { auditOf } from '../audit/audit.ts';
import { toAuditEntryRecord } from '../audit/list-audit-entries.ts';
import { type RequestFacts, type RequestSummary, summarize } from './summary.ts';
import { operationOf, type RequestTrace, traceRequest } from './trace.ts';

/**
 * get_request: everything that is stored about a request, or `request_not_found`. It shows the causes of errors and what
 * all card programs do, so the look-up is in the audit log before the response is sent.
 */
export async function getRequest(service: Service, call: Call<'get_request'>): Promise<Reply<'get_request'>> {
  const { request_id: sentId } = call.params;
  const requestId = fromWireId('req', sentId);
  if (requestId === undefined) {
    const message = `'${sentId}' is no request id: that is req_ and 32 hex digits.`;
    throw new Refusal('request_not_found', message);
  }
  const trace = await traceRequest(service.database, requestId, call);
  if (isEmpty(trace)) throw missing(sentId, trace);
  const record = toRequestRecord(sentId, trace, databaseTime());
  const { outcome, operation, money_moved } = record;
  const audited = {
    programId: programOf(trace),
    subjectId: sentId,
    details: JSON.stringify({ operation, outcome, money_moved }),
  };
  await transact(service.database, call.deadline, {}, () => ({ result: null, writes: auditOf(call, audited) }));
  return { record };
}

/** What is stored about a request, for a look-up that shows no more than its summary; undefined for nothing. */
export async function findRequest(
  { database }: Service,
  requestId: string,
  call: Pick<CallContext, 'deadline' | 'isGone'>,
): Promise<RequestRecord | undefined> {
  const trace = await traceRequest(database, requestId, call);
  return isEmpty(trace) ? undefined : toRequestRecord(toWireId('req', requestId), trace, databaseTime());
}

function isEmpty({ error, entries, transferCount, reversals, events }: RequestTrace): boolean {
  return error === null && entries.length + transferCount + reversals.length + events.length === 0;
}

/** Errors are stored a moment after their response. */
const RECENT_MILLISECONDS = 5000;

function missing(sentId: string, { receivedAt, complete }: RequestTrace): Refusal {
  if (!complete) {
    const message = `The search for the request '${sentId}' took too long and was ended. Nothing was found so far; try again.`;
    return new Refusal('request_not_found', message);
  }
  const age = databaseTime() - receivedAt.getTime();
  const hint =
    Math.abs(age) < RECENT_MILLISECONDS
      ? ' It is very recent, and an error is stored within a second: try again.'
      : ` By its id it was received at ${receivedAt.toISOString()}.`;
  const message =
    `Nothing is stored about a request '${sentId}'.${hint} Requests that succeed without changing anything leave nothing, ` +
    "such as reads and replays. A response with the header 'Idempotent-Replayed' has the id of the request that did it in " +
    "'Original-Request-Id': look that up. Errors are kept for ERROR_RETENTION_DAYS, other changes than transfers and " +
    'reversals for EVENT_RETENTION_DAYS, and transfers, reversals and what operators did for ever.';
  return new Refusal('request_not_found', message);
}

/** The record of a request, as of the moment `now` (milliseconds since 1970). */
function toRequestRecord(sentId: string, trace: RequestTrace, now: number): RequestRecord {
  const { receivedAt, error, transfers, transferCount, reversals, events, entries, complete } = trace;
  const operation = operationOf(trace);
  const programId = programOf(trace);
  const { outcome, moneyMoved, sentence } = summarize(factsOf(trace, operation), now);
  return {
    request_id: sentId,
    received_at: receivedAt.toISOString(),
    operation: operation ?? error?.operation ?? null,
    program_id: programId === null ? null : toWireId('prog', programId),
    caller: callerOf(trace),
    idempotency_key: keyOf(trace, operation),
    outcome,
    status: statusOf(trace, operation, outcome),
    money_moved: moneyMoved,
    summary: sentence,
    error: error === null ? null : toInspectedErrorRecord(error),
    transfers: transfers.map(toTransferRecord),
    transfer_count: transferCount,
    reversals: reversals.map(toReversalRecord),
    events: events.slice(0, MAX_SHOWN_OF_REQUEST).map(toEvent),
    audit_entries: entries.map(toAuditEntryRecord),
    complete,
  };
}

function factsOf({ error, entries, ...rest }: RequestTrace, operation: OperationId | null): RequestFacts {
  const isMovement = operation === 'create_deposit' || operation === 'create_withdrawal';
  const [entry] = isMovement && error === null ? entries : [];
  const { amount, currency } = JSON.parse(entry?.details ?? '{}') as { amount?: number; currency?: string };
  const movement = amount === undefined || currency === undefined ? null : { amount: BigInt(amount), currency };
  return { ...rest, operation, failure: error, movement };
}

function programOf({ error, entries, transfers, events }: RequestTrace): string | null {
  const named = [error, ...entries, ...transfers, ...events].find((one) => (one?.programId ?? null) !== null);
  return named?.programId ?? null;
}

function callerOf({ error, entries, transfers, created }: RequestTrace): string | null {
  const [entry] = entries;
  if (entry !== undefined && entry.action !== 'refuse_credential') return entry.actor;
  const own = transfers.find(({ transferId }) => created.has(transferId));
  if (own !== undefined) return toTransferRecord(own).created_by;
  return error === null || error.keyId === null ? (error?.caller ?? null) : toWireId('key', error.keyId);
}

function keyOf({ error, transfers, created }: RequestTrace, operation: OperationId | null): string | null {
  if (error !== null) return error.idempotencyKey;
  // The rows of a batch have keys of their own.
  const own = transfers.find(({ transferId }) => created.has(transferId));
  return operation === 'create_transfer' ? (own?.idempotencyKey ?? null) : null;
}

function statusOf(
  { error }: RequestTrace,
  operation: OperationId | null,
  outcome: RequestSummary['outcome'],
): number | null {
  // A batch succeeds whatever becomes of its rows, and the error is that of one of them.
  const isOfRow = operation === 'create_transfer_batch' && error?.operation === 'create_transfer';
  if (outcome === 'failed' && error !== null && !isOfRow) return error.status;
  return operation === null ? null : OPERATIONS[operation].status;
}

function toEvent({ eventId, type, programId, subjectId, createdAt }: CausedEvent): RequestRecord['events'][number] {
  return {
    event_id: toWireId('evt', eventId),
    type,
    program_id: programId === null ? null : toWireId('prog', programId),
    subject_id: subjectId,
    created_at: createdAt.toISOString(),
  };
}
