import type { OperationId } from '../../contract/operations.ts';
import { type AuditNote, insertAuditEntry } from '../store/audit.ts';
import type { Statement } from '../store/database.ts';
import { actorOf } from './actor.ts';
import type { Call } from './call.ts';

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
export const AUDITED_OPERATIONS: readonly OperationId[] = [
  'create_program',
  'update_program',
  'create_deposit',
  'create_withdrawal',
  'change_switch',
  'create_key',
  'roll_key',
  'revoke_key',
  'inspect_error',
  'move_clock',
];

/**
 * The row of an operator's action. It must be the last of the writes: it locks the head of the chain, and that lock
 * comes after all others.
 */
export function auditOf(call: Call, audited: Audited): Statement {
  return insertAuditEntry({
    ...audited,
    actor: actorOf(call.caller),
    action: call.operation,
    requestId: call.requestId,
  });
}

/** The row of something that no request asked for. */
export function auditOther(
  action: (typeof OTHER_ACTIONS)[number],
  note: Omit<AuditNote, 'action' | 'requestId'>,
): Statement {
  return insertAuditEntry({ ...note, action, requestId: null });
}
