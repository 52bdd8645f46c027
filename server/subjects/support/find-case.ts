import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type CaseAction, type CaseRefusal, MAX_CASE_MESSAGES, refusalOf } from '../../../domain/support/case.ts';
import type { CallContext, Caller } from '../../calls/call.ts';
import type { Row, Statement } from '../../store/connection/database.ts';
import { readCallerNames, toCallerNames } from '../../store/session.ts';
import { type SupportCase, toWholeCase, type WholeCase } from '../../store/support/case.ts';
import { actorOf } from '../audit/audit.ts';

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

export const wireOrNull = (prefix: 'req' | 'tr' | 'inc' | 'msg' | 'prog', id: string | null): string | null =>
  id === null ? null : toWireId(prefix, id);
