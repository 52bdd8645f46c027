import { OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import type { Call } from '../operations/call.ts';
import { type AuditNote, insertAuditEntries } from '../store/audit.ts';
import type { Statement } from '../store/connection/database.ts';
import { actorOf, operatorOf } from './actor.ts';

/** What an action was about, for the audit log. */
export type Audited = {
  /** Inner UUID of the card program, or null. */
  readonly programId: string | null;
  /** Id on the wire. */
  readonly subjectId: string | null;
  /** JSON text: the subject as the action left it, never with a secret. */
  readonly details: string;
};

/** What is in the audit log beside operations. */
export const OTHER_ACTIONS = ['refuse_credential', 'seed_sandbox'] as const;

/** Operations that write a row to the audit log, in the transaction of what they do. */
export const AUDITED_OPERATIONS = OPERATION_IDS.filter((id) => OPERATIONS[id].audit === 'always');

/** Operations of card programs, which write a row when an operator uses them; the rows of a batch are its transfers. */
export const AUDITED_OF_OPERATORS = OPERATION_IDS.filter((id) => OPERATIONS[id].audit === 'operator');

/**
 * The row of an operator's action. It must be the last of the writes: it locks the head of the chain, and that lock
 * comes after all others.
 */
export function auditOf(call: Call, audited: Audited): Statement {
  return insertAuditEntries([
    { ...audited, actor: actorOf(call.caller), action: call.operation, requestId: call.requestId },
  ]);
}

/**
 * The same for an operation of card programs, which is recorded only when it was an operator who used it: a program
 * answers for its own keys. No rows otherwise.
 */
export function auditIfOperator(call: Call, audited: Audited): readonly Statement[] {
  return operatorOf(call.caller) === null ? [] : [auditOf(call, audited)];
}

/** The row of something that no request asked for. */
export function auditOther(
  action: (typeof OTHER_ACTIONS)[number],
  note: Omit<AuditNote, 'action' | 'requestId'>,
): Statement {
  return insertAuditEntries([{ ...note, action, requestId: null }]);
}
