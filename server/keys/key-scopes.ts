import type { CreateKeyBody } from '../../contract/keys.ts';
import { inOrder, KEY_SCOPES, type KeyScope } from '../../contract/scope.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Call } from '../operations/call.ts';

/**
 * The card program that a new key is bound to, as it was sent; undefined for a key that can act in all of them, which
 * must be asked for in so many words. Throws a Refusal of the operation's schema.
 */
export function readReach(call: Call, body: Pick<CreateKeyBody, 'program_id' | 'all_programs'>): string | undefined {
  const { program_id: programId, all_programs: inAll } = body;
  if (programId !== undefined && inAll === true) {
    const message = "'program_id' and 'all_programs': true exclude each other: send one of them.";
    throw refuse(call, message, '/all_programs');
  }
  if (programId === undefined && inAll !== true) {
    const message =
      "The required field 'program_id' is missing. A key that can act in all card programs needs 'all_programs': true.";
    throw refuse(call, message, '/program_id');
  }
  return programId;
}

/** The scopes that a request for a key names. Throws a Refusal of the operation's schema. */
export function readScopes(call: Call, sent: readonly unknown[], isBound: boolean): readonly KeyScope[] {
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
      "'scopes' holds 'operator', but an operator acts in all card programs: send 'all_programs': true instead of " +
      "'program_id', or omit 'operator'.";
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
