import { Refusal } from '../../domain/refusal.ts';
import { inOrder, KEY_SCOPES, type KeyScope, usualScopes } from '../../domain/scope.ts';
import type { Call } from './call.ts';

/** The scopes that a request for a key names, or the usual ones. Throws a Refusal of the operation's schema. */
export function readScopes(call: Call, sent: readonly unknown[] | undefined, isBound: boolean): readonly KeyScope[] {
  if (sent === undefined) return usualScopes(isBound);
  const unknown = sent.findIndex((scope) => !isScope(scope));
  if (unknown !== -1) {
    const known = KEY_SCOPES.map((scope) => `'${scope}'`).join(', ');
    throw refuse(
      call,
      `'scopes' must hold only ${known}; its item ${unknown + 1} is none of them.`,
      `/scopes/${unknown}`,
    );
  }
  const scopes = inOrder(sent.filter(isScope));
  if (isBound && scopes.includes('operator')) {
    const message =
      "'scopes' holds 'operator', but an operator acts in all card programs: leave out 'program_id', or 'operator'.";
    throw refuse(call, message, '/scopes');
  }
  return scopes;
}

function isScope(sent: unknown): sent is KeyScope {
  return KEY_SCOPES.some((scope) => scope === sent);
}

function refuse(call: Call, message: string, field: string): Refusal {
  return new Refusal(`${call.operation}_schema`, message, { field });
}
