import { includesScope, inOrder, isOfOperators } from '../../../contract/scope.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Caller } from '../../calls/call.ts';

// Invariant: No key gives another a scope of operators that it does not have
// Tested by: `test/security/roles.test.ts`

/**
 * Refuses a key with scopes of operators that the caller lacks: otherwise `keys:write` alone would amount to all of them.
 * Rolling a key counts like creating one, because the caller gets a secret that works. Scopes of card programs can be given
 * without having them: an operator who creates keys for the servers of a program need not be able to move its money.
 *
 * @throws {Refusal} forbidden
 */
export function refuseFurtherScopes(caller: Caller, scopes: readonly string[], doing: 'create' | 'roll'): void {
  if (!('keyId' in caller)) return;
  const further = inOrder(scopes).filter((scope) => isOfOperators(scope) && !includesScope(caller.scopes, scope));
  if (further.length === 0) return;
  const named = further.map((scope) => `'${scope}'`).join(', ');
  const message =
    `This key cannot ${doing} a key with ${named}: a key needs every scope of operators itself that it gives to another. ` +
    `This key has: ${caller.scopes.join(', ')}.`;
  throw new Refusal('forbidden', message, { saw: { refused_because: `no scope ${further.join(', ')}` } });
}
