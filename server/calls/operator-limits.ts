import { toCredentialId } from '../../domain/identifier.ts';
import type { OperatorLimits } from '../../domain/people/operator-limits.ts';
import { type Caller, credentialOf, isOperator } from './call.ts';

/**
 * Returns who is counted for the limits of operators, as the audit log names them: the person, also with a key that belongs to
 * them, or the key of no one. Undefined if nothing
 * is counted: without limits, for a card program's own reversal, and for a sandbox's caller without a key.
 */
export function countedActor(limits: OperatorLimits | undefined, caller: Caller): string | undefined {
  const credential = ('keyId' in caller ? caller.ownerId : undefined) ?? credentialOf(caller);
  if (limits === undefined || limits.size === 0) return undefined;
  return credential === undefined || !isOperator(caller) ? undefined : toCredentialId(credential);
}
