import type { OTHER_ACTIONS } from '../../../contract/audit.ts';
import { OPERATION_IDS, OPERATIONS } from '../../../contract/operations.ts';
import { HOLDER_FIELDS } from '../../../domain/cards/erase-card-holder.ts';
import { toCredentialId, toWireId } from '../../../domain/identifier.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { type CallContext, type Caller, credentialOf, isOperator } from '../../calls/call.ts';
import { noteCarriedOut } from '../../store/approval.ts';
import { type AuditNote, insertAuditEntries } from '../../store/audit.ts';
import type { Statement } from '../../store/connection/database.ts';

// Invariant: The audit log contains no values about the holder of a card
// Kept by: `withoutHolderValues`
// Tested by: `test/api/erasure`, `test/security/audit.test.ts`

// Invariant: Every change by an operator has its row in the audit chain
// Kept by: the row is written in the transaction of the change; the trigger of `audit_entry`
// Tested by: `test/security/audit.test.ts`

export type Audited = {
  /** Inner UUID of the card program, or null. */
  readonly programId: string | null;
  /** Id on the wire. */
  readonly subjectId: string | null;
  /** JSON text: the subject after the action, without secrets. */
  readonly details: string;
};

/** Operations that write an entry to the audit log, in the same transaction. */
export const AUDITED_OPERATIONS = OPERATION_IDS.filter((id) => OPERATIONS[id].audit === 'always');

/** Operations of card programs that write an entry if an operator calls them. A batch writes an entry for each transfer. */
export const AUDITED_OF_OPERATORS = OPERATION_IDS.filter((id) => OPERATIONS[id].audit === 'operator');

/** Returns the actor of an entry: `sandbox`, `host`, or the id of the key or the person. */
export function actorOf(caller: Caller): string {
  const credential = credentialOf(caller);
  return credential === undefined ? caller.kind : toCredentialId(credential);
}

/**
 * Returns the entry for an action, if its operation is audited: always, or only if an operator calls it. It must be the
 * last write, because it locks the head of the chain, and the lock order puts that lock last.
 */
export function auditOf(call: CallContext, audited: Audited): readonly Statement[] {
  const { operation, caller, requestId, approvalId } = call;
  const { audit, reach } = OPERATIONS[operation];
  if (audit === 'none' || (audit === 'operator' && !isOperator(caller))) return [];
  const hasContext = call.caseId !== undefined || approvalId !== undefined;
  const details = hasContext
    ? JSON.stringify(withContext(parseJson(audited.details) as object, call))
    : audited.details;
  return [
    // Requests of card programs run as a database role that cannot write approvals. Their idempotency key ensures that they are
    // carried out only once.
    ...(approvalId === undefined || reach === 'program' ? [] : [noteCarriedOut({ approvalId })]),
    insertAuditEntries([{ ...audited, details, actor: actorOf(caller), action: operation, requestId }]),
  ];
}

/**
 * Adds the case that the operator works on, and the approval of the action, to the details of an entry, unless the details
 * already name them.
 */
export function withContext(
  details: object,
  { caseId, approvalId }: Pick<CallContext, 'caseId' | 'approvalId'>,
): object {
  return {
    ...(caseId === undefined ? {} : { case_id: caseId }),
    ...(approvalId === undefined ? {} : { approval_id: toWireId('apr', approvalId) }),
    ...details,
  };
}

/**
 * Returns a card, a transfer, a reversal, a break, or a change of one of these for the audit log. The log is kept forever, so it
 * contains no values about the holder of a card. Instead, `omitted` lists the fields that had such a value. An operator's note is
 * also omitted: it is stored with the attempt or the break, where it can be erased.
 */
export function withoutHolderValues(record: object): object {
  return withoutValues(record, [...HOLDER_FIELDS, 'note']);
}

/** Returns a record for the audit log without the callers' metadata, because the log is kept forever. */
export function withoutMetadata(record: object): object {
  return withoutValues(record, ['metadata']);
}

function withoutValues(record: object, names: readonly string[]): object {
  const isKept = ([name, value]: [string, unknown]): boolean =>
    !names.includes(name) || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
  const members: [string, unknown][] = Object.entries(record);
  const omitted = members.filter((member) => !isKept(member)).map(([name]) => name);
  return { ...Object.fromEntries(members.filter(isKept)), ...(omitted.length === 0 ? {} : { omitted }) };
}

export function auditOther(
  action: (typeof OTHER_ACTIONS)[number],
  note: Omit<AuditNote, 'action' | 'requestId'>,
  requestId: string | null = null,
): Statement {
  return insertAuditEntries([{ ...note, action, requestId }]);
}
