import { includesScope, inOrder, isOfOperators, KEY_SCOPES, type KeyScope, ROLES } from '../../../contract/scope.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, type Caller, type Reply, schemaRefusal } from '../../calls/call.ts';
import { readFuture } from '../../calls/moments.ts';
import { loadProgram } from '../../calls/program.ts';
import type { Service } from '../../calls/service.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { type ApiKey, insertKey } from '../../store/key.ts';
import { auditOf } from '../audit/audit.ts';
import { newKey } from './api-key.ts';
import { toKeyRecord, toNewKeyRecord } from './read-keys.ts';

// Invariant: No key gives another a scope of operators that it does not have
// Tested by: `test/security/roles.test.ts`

type CreateCall = Call<'create_key'>;

/** create_key: the key. Only this response contains its secret; a replay does not. */
export async function createKey(service: Pick<Service, 'database'>, call: CreateCall): Promise<Reply<'create_key'>> {
  const { body } = call;
  const sentId = readProgramId(call);
  refuseBoth(call);
  const scopes = readScopes(call, sentId !== undefined);
  const program = sentId === undefined ? undefined : await loadProgram(service, sentId);
  const { key: secret, publicPart, secretHash } = newKey();
  return transactUnderKey(service, call, {
    load: {},
    decide: (_, { batchId, now }) => {
      const key: ApiKey = {
        keyId: idAt(now),
        publicPart,
        secretHash,
        programId: program?.programId ?? null,
        name: body.name,
        scopes,
        createdAt: new Date(now),
        expiresAt: readFuture(call, 'expires_at', body.expires_at, now),
        revokedAt: null,
        lastUsedAt: null,
        replacedBy: null,
      };
      const shown = toKeyRecord(key);
      const { programId, keyId } = key;
      const payload = JSON.stringify(shown);
      const event = { type: 'key.created' as const, programId, subjectId: shown.key_id, payload };
      const writes = [
        insertKey(key),
        insertEvents(batchId, [event], now, call),
        ...auditOf(call, { programId, subjectId: shown.key_id, details: payload }),
      ];
      return { record: toNewKeyRecord(key, secret), stored: toNewKeyRecord(key, null), subjectId: keyId, writes };
    },
  });
}

/**
 * The card program of a new key, as it was sent; undefined for a key for all programs, which must be requested
 * explicitly.
 */
function readProgramId(call: CreateCall): string | undefined {
  const { program_id: programId, all_programs: forAll } = call.body;
  if (programId !== undefined && forAll === true) {
    const message = "'program_id' and 'all_programs': true exclude each other. Send one of them.";
    throw schemaRefusal(call, message, '/all_programs');
  }
  if (programId === undefined && forAll !== true) {
    const message =
      "The required field 'program_id' is missing. A key that can act in all card programs needs 'all_programs': true.";
    throw schemaRefusal(call, message, '/program_id');
  }
  return programId;
}

function refuseBoth(call: CreateCall): void {
  const { role, scopes } = call.body;
  if (role === undefined || scopes === undefined) return;
  throw schemaRefusal(call, "'scopes' and 'role' exclude each other. Send one of them.", '/role');
}

/**
 * The scopes of a new key: as they were sent, or those of a role.
 *
 * @throws {Refusal} create_key_schema, forbidden
 */
function readScopes(call: CreateCall, isBound: boolean): readonly KeyScope[] {
  const { role } = call.body;
  const scopes = role === undefined ? readSentScopes(call) : inOrder(ROLES[role]);
  const field = role === undefined ? 'scopes' : 'role';
  const ofOperators = scopes.find(isOfOperators);
  if (isBound && ofOperators !== undefined) {
    const what = role === undefined ? `'scopes' contains` : `The role '${role}' contains`;
    const other = role === undefined ? `omit '${ofOperators}'` : "send the role 'viewer', or 'scopes'";
    const message =
      `${what} '${ofOperators}', but an operator acts in all card programs. Send 'all_programs': true instead of ` +
      `'program_id', or ${other}.`;
    throw schemaRefusal(call, message, `/${field}`);
  }
  refuseFurtherScopes(call.caller, scopes, 'create');
  return scopes;
}

function readSentScopes(call: CreateCall): readonly KeyScope[] {
  const sent: readonly unknown[] | undefined = call.body.scopes;
  if (sent === undefined) {
    const message = "The required field 'scopes' is missing. Send it, or 'role' for the scopes of a role.";
    throw schemaRefusal(call, message, '/scopes');
  }
  const unknown = sent.findIndex((scope) => !isScope(scope));
  if (unknown !== -1) {
    const known = KEY_SCOPES.map((scope) => `'${scope}'`).join(', ');
    const message = `'scopes' can only contain ${known}, and its item ${unknown + 1} is none of them.`;
    throw schemaRefusal(call, message, `/scopes/${unknown}`);
  }
  return inOrder(sent.filter(isScope));
}

function isScope(sent: unknown): sent is KeyScope {
  return KEY_SCOPES.some((scope) => scope === sent);
}

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
