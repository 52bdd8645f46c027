import { OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import {
  MAX_SHOWN_OF_REQUEST,
  type ProgramRequestRecord,
  type RequestRecord,
  SCOPES_OF_REQUESTS,
} from '../../../contract/service/requests.ts';
import { fromWireId, toCredentialId, toWireId } from '../../../domain/identifier.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Transfer } from '../../../domain/transfers/transfer.ts';
import { type Call, type CallContext, type Caller, hasScope, type Reply, type Service } from '../../calls/call.ts';
import { confirmReplicated, readRows } from '../../calls/read-rows.ts';
import { toInspectedErrorRecord, toLoggedErrorRecord } from '../../calls/records/error.ts';
import { toReversalRecord, toTransferRecord } from '../../calls/records/transfer.ts';
import { transact } from '../../commit/transaction.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import type { Database } from '../../store/connection/database.ts';
import type { CausedEvent } from '../../store/requests/find-request.ts';
import { readTransfer } from '../../store/transfers/transfer.ts';
import { auditOf } from '../audit/audit.ts';
import { toAuditEntryRecord } from '../audit/list-audit-entries.ts';
import { isOfRow, type RequestFacts, type RequestSummary, summarize } from './summary.ts';
import { operationOf, type Reach, type RequestTrace, traceRequest } from './trace.ts';

/**
 * get_request: returns the effects of a request in the card program. Throws `request_not_found`, even for a request of another
 * program. Like other reads of a program, it is not recorded in the audit log. `clock` is the database whose clock a sandbox can
 * move.
 */
export async function getRequest(
  clock: Database | undefined,
  service: Service,
  call: Call<'get_request'>,
): Promise<Reply<'get_request'>> {
  requireFurtherScopes(call.caller);
  const { database } = service;
  const { programId } = call;
  const { request_id: sentId } = call.params;
  const trace = await traceRequest({ database, programId, clock }, requestIdOf(sentId), call);
  if (!hasEffectOfProgram(trace)) throw missing(sentId, trace, programId);
  await confirmTransfers(database, call.deadline, trace.transfers);
  return { record: toProgramRequestRecord(sentId, trace, programId, databaseTime()) };
}

/**
 * inspect_request: returns everything stored about a request, or throws `request_not_found`. It shows causes of errors and data of
 * all card programs, so the look-up is recorded in the audit log before the response is sent.
 */
export async function inspectRequest(
  service: Service,
  call: Call<'inspect_request'>,
): Promise<Reply<'inspect_request'>> {
  const { request_id: sentId } = call.params;
  const trace = await traceRequest(everywhere(service), requestIdOf(sentId), call);
  if (isEmpty(trace)) throw missing(sentId, trace, null);
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

/** Returns everything stored about a request, or undefined. Not audited: the caller shows only the summary. */
export async function findRequest(
  service: Service,
  requestId: string,
  call: Pick<CallContext, 'deadline' | 'isGone'>,
): Promise<RequestRecord | undefined> {
  const trace = await traceRequest(everywhere(service), requestId, call);
  return isEmpty(trace) ? undefined : toRequestRecord(toWireId('req', requestId), trace, databaseTime());
}

/**
 * Returns the effects of a request in the card program of a call, with the checks and causes that only operators see. Throws
 * `request_not_found`, even for a request of another program.
 */
export async function findRequestOfProgram(
  clock: Database | undefined,
  { database }: Service,
  call: CallContext,
  sentId: string,
): Promise<RequestRecord> {
  const { programId } = call;
  const trace = await traceRequest({ database, programId, clock }, requestIdOf(sentId), call);
  if (!hasEffectOfProgram(trace)) throw missing(sentId, trace, programId);
  return toRequestRecord(sentId, trace, databaseTime());
}

function everywhere({ database }: Service): Reach {
  return { database, programId: null, clock: database };
}

function requestIdOf(sentId: string): string {
  const requestId = fromWireId('req', sentId);
  if (requestId !== undefined) return requestId;
  throw new Refusal('request_not_found', `'${sentId}' is not a request id. A request id is req_ and 32 hex digits.`);
}

function requireFurtherScopes(caller: Caller): void {
  if (!('scopes' in caller)) return;
  const { scopes } = caller;
  const lacking = SCOPES_OF_REQUESTS.filter((scope) => !hasScope(caller, scope));
  if (lacking.length === 0) return;
  const named = SCOPES_OF_REQUESTS.map((scope) => `'${scope}'`).join(', ');
  throw new Refusal('forbidden', `This operation needs the scopes ${named}. This key has: ${scopes.join(', ')}.`, {
    saw: { refused_because: `no scope ${lacking.join(', ')}` },
  });
}

/** The types of events that a program's own requests cause. Actions that only operators can take have other types. */
const OWN_EVENTS = /^(?:transfer|reversal|card|webhook|case)\./;

/** Returns whether a request failed in the card program, or had an effect in it that the program's own keys can cause. */
function hasEffectOfProgram({ error, transferCount, reversals, events }: RequestTrace): boolean {
  return error !== null || transferCount + reversals.length > 0 || events.some(({ type }) => OWN_EVENTS.test(type));
}

/** Waits until a failover cannot lose the transfers, because a client uses them to decide whether to send the request again. */
async function confirmTransfers(database: Database, deadline: number, transfers: readonly Transfer[]): Promise<void> {
  const [latest] = transfers.toSorted((one, other) => other.updatedAt - one.updatedAt);
  if (latest === undefined) return;
  const { programId, transferId } = latest;
  await confirmReplicated(database, deadline, await readRows(database, readTransfer(programId, transferId)));
}

function isEmpty({ error, entries, transferCount, reversals, events }: RequestTrace): boolean {
  return error === null && entries.length + transferCount + reversals.length + events.length === 0;
}

/** Errors are stored shortly after their response. For this long, a missing error may still appear. */
const RECENT_MILLISECONDS = 5000;

/** Returns the refusal of an unknown request. `programId` is the card program that was searched, or null for all. */
function missing(sentId: string, { receivedAt, complete }: RequestTrace, programId: string | null): Refusal {
  if (!complete) {
    const message = `The search for the request '${sentId}' took too long and was ended. Nothing was found so far; try again.`;
    return new Refusal('request_not_found', message);
  }
  const age = databaseTime() - receivedAt.getTime();
  const hint =
    Math.abs(age) < RECENT_MILLISECONDS
      ? ' It is very recent, and an error is stored within a second: try again.'
      : ` According to its id, it was received at ${receivedAt.toISOString()}.`;
  const [where, kept] =
    programId === null
      ? ['', ', and transfers, reversals and actions of operators forever']
      : [' in this card program', ', and transfers and reversals forever'];
  const message =
    `Nothing is stored about a request '${sentId}'${where}.${hint} Requests that succeed without changing anything, ` +
    "such as reads and replays, leave nothing. A response with the header 'Idempotent-Replayed' has the id of the request " +
    "that did it in 'Original-Request-Id': look that up. Errors are kept for ERROR_RETENTION_DAYS, changes other than transfers and " +
    `reversals for EVENT_RETENTION_DAYS${kept}.`;
  return new Refusal('request_not_found', message);
}

/** Returns the record of a request at the time `now`, in milliseconds since 1970. */
function toRequestRecord(sentId: string, trace: RequestTrace, now: number): RequestRecord {
  const { error, entries, complete } = trace;
  const programId = programOf(trace);
  return {
    ...headOf(sentId, trace, now),
    program_id: programId === null ? null : toWireId('prog', programId),
    caller: callerOf(trace),
    error: error === null ? null : toInspectedErrorRecord(error),
    ...effectsOf(trace),
    audit_entries: entries.map(toAuditEntryRecord),
    complete,
  };
}

/** Returns the record for the card program: without causes and checks, and with the caller as shown in errors. */
function toProgramRequestRecord(
  sentId: string,
  trace: RequestTrace,
  programId: string,
  now: number,
): ProgramRequestRecord {
  const { error, complete } = trace;
  const keyOfError = error === null || error.keyId === null ? null : toCredentialId(error.keyId);
  return {
    ...headOf(sentId, trace, now),
    program_id: toWireId('prog', programId),
    caller: creatorOf(trace) ?? keyOfError,
    error: error === null ? null : toLoggedErrorRecord(error),
    ...effectsOf(trace),
    complete,
  };
}

function headOf(sentId: string, trace: RequestTrace, now: number) {
  const { receivedAt, error } = trace;
  const operation = operationOf(trace);
  const { outcome, moneyMoved, sentence } = summarize(factsOf(trace, operation), now);
  return {
    request_id: sentId,
    received_at: receivedAt.toISOString(),
    operation: operation ?? error?.operation ?? null,
    idempotency_key: keyOf(trace, operation),
    outcome,
    status: statusOf(trace, operation, outcome),
    money_moved: moneyMoved,
    summary: sentence,
  };
}

function effectsOf({ transfers, transferCount, reversals, events }: RequestTrace) {
  return {
    transfers: transfers.map(toTransferRecord),
    transfer_count: transferCount,
    reversals: reversals.map(toReversalRecord),
    events: events.slice(0, MAX_SHOWN_OF_REQUEST).map(toEvent),
  };
}

function factsOf(trace: RequestTrace, operation: OperationId | null): RequestFacts {
  const { error, entries, events } = trace;
  const isMovement = operation === 'create_deposit' || operation === 'create_withdrawal';
  const entry = entries.find(({ action }) => action === operation);
  const { amount, currency } = parseJson((isMovement ? entry?.details : null) ?? '{}') as {
    amount?: number;
    currency?: string;
  };
  const movement = amount === undefined || currency === undefined ? null : { amount: BigInt(amount), currency };
  const isStored = entry !== undefined || events.some(({ type }) => type !== 'error.recorded');
  return { ...trace, operation, failure: error, movement, isStored, idempotencyKey: keyOf(trace, operation) };
}

function programOf({ error, entries, transfers, events }: RequestTrace): string | null {
  const named = [error, ...entries, ...transfers, ...events].find((one) => (one?.programId ?? null) !== null);
  return named?.programId ?? null;
}

function callerOf(trace: RequestTrace): string | null {
  const { error, entries } = trace;
  const [entry] = entries;
  if (entry !== undefined && entry.action !== 'refuse_credential') return entry.actor;
  const own = creatorOf(trace);
  if (own !== undefined) return own;
  return error === null || error.keyId === null ? (error?.caller ?? null) : toCredentialId(error.keyId);
}

/** Returns the creator of the request's transfers or reversals, or undefined if it created none. */
function creatorOf({ transfers, created, reversals: [reversal] }: RequestTrace): string | null | undefined {
  const own = transfers.find(({ transferId }) => created.has(transferId));
  if (own !== undefined) return toTransferRecord(own).created_by;
  return reversal === undefined ? undefined : toReversalRecord(reversal).created_by;
}

function keyOf({ error, transfers, created }: RequestTrace, operation: OperationId | null): string | null {
  if (error !== null) return error.idempotencyKey;
  // Each row of a batch has its own key.
  const own = transfers.find(({ transferId }) => created.has(transferId));
  return operation === 'create_transfer' ? (own?.idempotencyKey ?? null) : null;
}

function statusOf(
  { error }: RequestTrace,
  operation: OperationId | null,
  outcome: RequestSummary['outcome'],
): number | null {
  // A batch succeeds even if rows fail.
  if (outcome !== 'succeeded' && error !== null && !isOfRow(operation, error)) return error.status;
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
