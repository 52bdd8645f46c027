import { LoggedErrorRecord } from '../../../contract/error-log.ts';
import { ERROR_TYPES } from '../../../contract/errors/record.ts';
import { SCOPES_OF_REQUESTS } from '../../../contract/service/requests.ts';
import type {
  CaseDetails,
  CaseMessage as CaseMessageRecord,
  CaseRecord,
  CaseSnapshot,
  OperatorCaseSnapshot,
  QueuedCase as QueuedCaseRecord,
} from '../../../contract/support/cases.ts';
import type { IncidentRecord, OperatorIncidentRecord } from '../../../contract/support/incidents.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { Refusal } from '../../../domain/refusal.ts';
import {
  type CaseAction,
  type CaseRefusal,
  MAX_CASE_MESSAGES,
  refusalOf,
  urgencyWord,
} from '../../../domain/support/case.ts';
import { type CallContext, type Caller, hasScope, type JsonReply } from '../../calls/call.ts';
import type { Row, Statement } from '../../store/connection/database.ts';
import { readCallerNames, toCallerNames } from '../../store/session.ts';
import {
  type CaseMessage,
  type QueuedCase,
  type SupportCase,
  toWholeCase,
  type WholeCase,
} from '../../store/support/case.ts';
import type { CountedIncident, Incident } from '../../store/support/incident.ts';
import { actorOf } from '../audit/audit.ts';

const shown = (moment: Date | null): string | null => moment?.toISOString() ?? null;

/** Returns a case as defined by the contract, without its free text. */
export function toCaseRecord(one: SupportCase): CaseRecord {
  const { lastMessageId, lastMessageSide: from } = one;
  return {
    case_id: toWireId('case', one.caseId),
    program_id: toWireId('prog', one.programId),
    status: one.status,
    severity: one.severity,
    request_id: wireOrNull('req', one.requestId),
    transfer_id: wireOrNull('tr', one.transferId),
    operation: one.operation,
    code: one.code,
    type: ERROR_TYPES.find((type) => type === one.type) ?? null,
    money_moved: one.moneyMoved,
    incident_id: wireOrNull('inc', one.incidentId),
    message_count: one.messageCount,
    last_message:
      lastMessageId === null || from === null
        ? null
        : { message_id: toWireId('msg', lastMessageId), from, external_id: one.lastExternalId },
    outcome: one.outcome,
    created_at: one.createdAt.toISOString(),
    updated_at: one.updatedAt.toISOString(),
    first_response_at: shown(one.firstResponseAt),
    resolved_at: shown(one.resolvedAt),
    closed_at: shown(one.closedAt),
  };
}

/**
 * Returns a case without the facts that the key could not read with other operations. Facts about an error need `errors:read`, and
 * facts about a transfer need `transfers:read`.
 */
export function withinScopes<Shown extends CaseRecord>(record: Shown, caller: Caller): Shown {
  const maySeeTransfer = hasScope(caller, 'transfers:read');
  const isOfError = record.request_id !== null;
  const maySeeError = isOfError ? hasScope(caller, 'errors:read') : maySeeTransfer;
  return {
    ...record,
    ...(maySeeError ? {} : { operation: null, code: null, type: null }),
    ...(maySeeTransfer ? {} : { money_moved: null }),
    ...(isOfError && !maySeeError && !maySeeTransfer ? { transfer_id: null } : {}),
  };
}

/**
 * Applies {@link withinScopes} to a reply. A replay needs this too, because the first response may have been for a different key.
 */
export function replyWithinScopes(reply: JsonReply<CaseRecord>, caller: Caller): JsonReply<CaseRecord> {
  if (hasScope(caller, 'errors:read') && hasScope(caller, 'transfers:read')) return reply;
  if ('record' in reply) {
    const record = withinScopes(reply.record, caller);
    return { ...reply, record, json: JSON.stringify(record) };
  }
  return { ...reply, json: JSON.stringify(withinScopes(parseJson(reply.json) as CaseRecord, caller)) };
}

export function toQueuedRecord(one: QueuedCase): QueuedCaseRecord {
  return { ...toCaseRecord(one), urgency: urgencyWord(one.urgency), summary: one.summary };
}

/** Returns a case with its free text, and the snapshot as support sees it. */
export function withTexts(one: WholeCase, messages: readonly CaseMessage[]) {
  return {
    ...toCaseRecord(one),
    text: one.text,
    contact: one.contact,
    resolution: one.resolution,
    messages: messages.map(toMessageRecord),
    created_by: one.createdBy,
    // The type is not checked, because a stored snapshot follows the contract as it was when the snapshot was stored.
    snapshot: one.snapshot as OperatorCaseSnapshot | null,
  };
}

export function toCaseDetails(one: WholeCase, messages: readonly CaseMessage[], caller: Caller): CaseDetails {
  const { snapshot, ...rest } = withTexts(one, messages);
  return { ...withinScopes(rest, caller), snapshot: snapshot === null ? null : toProgramSnapshot(snapshot, caller) };
}

/** Removes the facts that only operators see, and the facts that the key could not read through other operations. */
function toProgramSnapshot({ error, transfer, summary, ...rest }: OperatorCaseSnapshot, caller: Caller): CaseSnapshot {
  const names = Object.keys(LoggedErrorRecord.properties);
  const own = Object.entries(error ?? {}).filter(([name]) => names.includes(name));
  // The summary of a request contains the facts of `get_request`, and the summary of a transfer contains the facts of its timeline.
  const scopes = rest.received_at === null ? (['transfers:read'] as const) : SCOPES_OF_REQUESTS;
  return {
    ...rest,
    summary: scopes.every((scope) => hasScope(caller, scope)) ? summary : null,
    error: error === null || !hasScope(caller, 'errors:read') ? null : (Object.fromEntries(own) as LoggedErrorRecord),
    transfer: hasScope(caller, 'transfers:read') ? transfer : null,
  };
}

function toMessageRecord(one: CaseMessage): CaseMessageRecord {
  return {
    message_id: toWireId('msg', one.messageId),
    from: one.side,
    author: one.author,
    text: one.text,
    external_author: one.externalAuthor,
    external_id: one.externalId,
    created_at: one.createdAt.toISOString(),
  };
}

/** Returns an incident in the form that is shown to every key in the incident's scope. */
export function toIncidentRecord(one: Incident): IncidentRecord {
  return {
    incident_id: toWireId('inc', one.incidentId),
    title: one.title,
    public_text: one.publicText,
    status: one.resolvedAt === null ? 'open' : 'resolved',
    scope: one.scope,
    program_id: wireOrNull('prog', one.programId),
    operation: one.operation,
    codes: [...one.codes],
    outcome: one.outcome,
    resolution: one.resolution,
    started_at: one.startedAt.toISOString(),
    updated_at: one.updatedAt.toISOString(),
    resolved_at: shown(one.resolvedAt),
  };
}

export function toOperatorIncidentRecord(one: CountedIncident): OperatorIncidentRecord {
  return {
    ...toIncidentRecord(one),
    internal_text: one.internalText,
    created_by: one.createdBy,
    case_count: one.caseCount,
    unresolved_case_count: one.unresolvedCaseCount,
  };
}

export type CaseCall = CallContext & { readonly params: { readonly case_id: string } };

/** Returns the card program whose cases a call may access, or null for operators, who may access all. */
export function programOf({ programId }: CallContext): string | null {
  return programId === '' ? null : programId;
}

/** Returns the scope of a call's idempotency key: the card program or, for operators, the service. */
export function keysOf(call: CallContext): { readonly programId?: string } {
  const programId = programOf(call);
  return programId === null ? {} : { programId };
}

/** Returns the inner UUID of the case in the path. Throws `case_not_found` if it is not the id of a case. */
export function caseIdOf(call: CaseCall): string {
  const caseId = fromWireId('case', call.params.case_id);
  if (caseId === undefined) throw caseMissing(call, call.params.case_id);
  return caseId;
}

/** Returns the case that was read for a call. Throws `case_not_found`. */
export function foundCase(call: CaseCall, [row]: readonly Row[]): WholeCase {
  if (row === undefined) throw caseMissing(call, call.params.case_id);
  return toWholeCase(row);
}

export function caseMissing(call: CallContext, sentId: string, field?: string): Refusal {
  const where = programOf(call) === null ? '' : ' in this card program';
  const hint = fromWireId('case', sentId) === undefined ? ' A case id is case_ and 32 hex digits.' : '';
  const message = `There is no case '${sentId}'${where}.${hint}`;
  return new Refusal('case_not_found', message, field === undefined ? {} : { field });
}

const REFUSALS: Readonly<Record<Exclude<CaseRefusal, 'full'>, string>> = {
  closed: 'The case is closed. Open a new one.',
  resolved: 'The case is already resolved.',
  resolved_long_ago: 'The case was resolved more than 30 days ago. Open a new one.',
};

/** Throws the refusal if the case does not allow an action at the time `now` (milliseconds since 1970). */
export function requireAllowed(action: CaseAction, found: SupportCase, now: number): void {
  const state = { ...found, resolvedAt: found.resolvedAt?.getTime() ?? null };
  const refusal = refusalOf(action, state, now);
  if (refusal === undefined) return;
  if (refusal !== 'full') throw new Refusal('invalid_case_status', REFUSALS[refusal]);
  const message = `The case already has ${MAX_CASE_MESSAGES} messages, which is the maximum. Open a new one.`;
  throw new Refusal('case_message_limit', message);
}

/** Returns the statement that reads the name of an operator's key. Returns null for other callers. */
export function readNameOf(caller: Caller): Statement | null {
  return 'keyId' in caller ? readCallerNames(caller) : null;
}

/** Returns the name of a key that acts for operators. For a person, returns the id, because a name may have to be erased. */
export function nameOf(caller: Caller, [row]: readonly Row[]): string {
  return row === undefined ? actorOf(caller) : (toCallerNames(row).keyName ?? actorOf(caller));
}

const wireOrNull = (prefix: 'req' | 'tr' | 'inc' | 'msg' | 'prog', id: string | null): string | null =>
  id === null ? null : toWireId(prefix, id);
