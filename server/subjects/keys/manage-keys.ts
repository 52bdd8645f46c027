import type { KeyRecord, NewKeyRecord } from '../../../contract/keys.ts';
import { clampToLastMoment } from '../../../contract/reading/times.ts';
import {
  includesScope,
  inOrder,
  isOfOperators,
  KEY_SCOPES,
  type KeyScope,
  ROLES,
  roleOf,
  scopesIncluding,
} from '../../../contract/scope.ts';
import { fromWireId, toCredentialId, toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, type Caller, credentialOf, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readFuture } from '../../calls/fields.ts';
import { readPage } from '../../calls/page.ts';
import { loadProgram, personMissing } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import {
  type ApiKey,
  insertKey,
  listKeys as listStatement,
  lockKey,
  replaceKey,
  revokeKey as revokeStatement,
  toApiKey,
} from '../../store/key.ts';
import { readPerson } from '../../store/person.ts';
import { auditOf } from '../audit/audit.ts';
import { newKey } from './authenticate.ts';

// Invariant: A key cannot give another key an operator scope that it lacks
// Tested by: `test/security/roles.test.ts`

type CreateCall = Call<'create_key'>;

/** create_key: returns the key. Only this response contains the secret. A replay does not. */
export async function createKey(service: Pick<Service, 'database'>, call: CreateCall): Promise<Reply<'create_key'>> {
  const { body } = call;
  const sentId = readProgramId(call);
  refuseBoth(call);
  const scopes = readScopes(call, sentId !== undefined);
  const program = sentId === undefined ? undefined : await loadProgram(service, sentId);
  const ownerId = body.person_id === undefined ? null : await findPerson(service, body.person_id);
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
        ownerId,
        createdBy: credentialOf(call.caller) ?? null,
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

/** Returns the inner UUID of the person that a new key belongs to. Throws `person_not_found`. */
async function findPerson({ database }: Pick<Service, 'database'>, sentId: string): Promise<string> {
  const personId = fromWireId('per', sentId);
  const found = personId !== undefined && (await readRows(database, readPerson({ personId }))).length > 0;
  if (!found) throw personMissing(sentId);
  return personId;
}

/** Returns the sent program of a new key. A key for all programs must be requested explicitly. */
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

/** Returns the scopes of a new key: the scopes that were sent, or the scopes of a role. Throws create_key_schema or forbidden. */
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
 * Refuses a key with operator scopes that the caller lacks. Otherwise a caller with `keys:write` could give itself all of them. The
 * same applies to rolling a key, because the caller gets a working secret. A caller can grant scopes of card programs without
 * having them: an operator who creates keys for a program's servers does not need to be able to move its money.
 *
 * @throws {Refusal} forbidden
 */
function refuseFurtherScopes(caller: Caller, scopes: readonly string[], doing: 'create' | 'roll'): void {
  if (!('scopes' in caller)) return;
  const further = inOrder(scopes).filter((scope) => isOfOperators(scope) && !includesScope(caller.scopes, scope));
  if (further.length === 0) return;
  const named = further.map((scope) => `'${scope}'`).join(', ');
  const message =
    `This key cannot ${doing} a key with ${named}: it does not have these scopes itself. ` +
    `This key has: ${caller.scopes.join(', ')}.`;
  throw new Refusal('forbidden', message, { saw: { refused_because: `no scope ${further.join(', ')}` } });
}

export async function listKeys(service: Service, call: Call<'list_keys'>): Promise<Reply<'list_keys'>> {
  const { scope } = call.query;
  const scopes = scope === undefined ? null : scopesIncluding(scope);
  const record = await readPage(service, call, {
    prefix: 'key',
    statement: (after, count) => listStatement(scopes, after, count),
    read: toApiKey,
    idOf: (key) => key.keyId,
    show: toKeyRecord,
  });
  return { record };
}

function toKeyRecord(key: ApiKey): KeyRecord {
  return {
    key_id: toWireId('key', key.keyId),
    name: key.name,
    program_id: key.programId === null ? null : toWireId('prog', key.programId),
    scopes: inOrder(key.scopes),
    role: roleOf(key.scopes),
    shown_as: `ts_${key.publicPart}_…`,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    replaced_by: key.replacedBy === null ? null : toWireId('key', key.replacedBy),
    person_id: key.ownerId === null ? null : toWireId('per', key.ownerId),
    created_by: key.createdBy === null ? null : toCredentialId(key.createdBy),
  };
}

const KEY_OMITTED =
  'The secret is in the first response only and is not stored. If that response was lost, roll this key with a new ' +
  'Idempotency-Key to get a new secret, or revoke it.';

/** Returns a new key. The secret is null in a replay. */
function toNewKeyRecord(key: ApiKey, secret: string | null): NewKeyRecord {
  return { ...toKeyRecord(key), key: secret, key_omitted: secret === null ? KEY_OMITTED : null };
}

/** How long the old key remains valid by default. Clients have a day to switch to the new key. */
export const DEFAULT_OVERLAP_MILLISECONDS = 86_400_000;

/**
 * roll_key: returns a new key with the scopes of the old one. Both work until the old one expires. The caller sets when each of
 * them expires, but a roll never extends the old key. A replay rolls nothing and does not contain the secret.
 */
export async function rollKey(service: Service, call: Call<'roll_key'>): Promise<Reply<'roll_key'>> {
  const { body } = call;
  const { key_id: sentId } = call.params;
  const keyId = fromWireId('key', sentId);
  if (keyId === undefined) throw keyMissing(sentId);
  const { key: secret, publicPart, secretHash } = newKey();
  return transactUnderKey(service, call, {
    load: { key: lockKey(keyId) },
    decide: ({ key: [row] }, { batchId }) => {
      if (row === undefined) throw keyMissing(sentId);
      const old = toApiKey(row);
      refuseFurtherScopes(call.caller, old.scopes, 'roll');
      const now = row.now as Date;
      checkUsable(call, old, now);
      const until = readFuture(call, 'previous_until', body.previous_until, now.getTime());
      const created: ApiKey = {
        ...old,
        keyId: idAt(now.getTime()),
        publicPart,
        secretHash,
        createdAt: now,
        expiresAt: readFuture(call, 'expires_at', body.expires_at, now.getTime()) ?? asLongAs(old, now),
        lastUsedAt: null,
        // The caller that rolls a key gets the new secret, so it counts as the creator.
        createdBy: credentialOf(call.caller) ?? null,
      };
      const shown = toKeyRecord(created);
      const replaced = {
        ...old,
        replacedBy: created.keyId,
        expiresAt: earlier(until ?? new Date(now.getTime() + DEFAULT_OVERLAP_MILLISECONDS), old.expiresAt),
      };
      const { programId } = old;
      const details = JSON.stringify({ ...shown, replaces: toKeyRecord(replaced) });
      const event = { type: 'key.rolled' as const, programId, subjectId: shown.key_id, payload: details };
      const writes = [
        insertKey(created),
        replaceKey(keyId, created.keyId, replaced.expiresAt),
        insertEvents(batchId, [event], now.getTime(), call),
        ...auditOf(call, { programId, subjectId: shown.key_id, details }),
      ];
      return {
        record: toNewKeyRecord(created, secret),
        stored: toNewKeyRecord(created, null),
        subjectId: created.keyId,
        writes,
      };
    },
  });
}

/** Refuses to roll a key that was revoked, has expired or was already rolled. The message says what to do instead. */
function checkUsable(call: Call<'roll_key'>, key: ApiKey, now: Date): void {
  const { key_id: sentId } = call.params;
  if (key.revokedAt !== null) {
    throw schemaRefusal(call, `The key '${sentId}' was revoked. Create a new one.`, '/key_id');
  }
  if (key.expiresAt !== null && key.expiresAt <= now) {
    throw schemaRefusal(call, `The key '${sentId}' has expired. Create a new one.`, '/key_id');
  }
  if (key.replacedBy === null) return;
  const successor = toWireId('key', key.replacedBy);
  throw schemaRefusal(
    call,
    `The key '${sentId}' was rolled before. Roll '${successor}', which replaced it.`,
    '/key_id',
  );
}

function asLongAs({ createdAt, expiresAt }: ApiKey, now: Date): Date | null {
  if (expiresAt === null) return null;
  return new Date(clampToLastMoment(now.getTime() + expiresAt.getTime() - createdAt.getTime()));
}

function earlier(one: Date, other: Date | null): Date {
  return other !== null && other < one ? other : one;
}

/** revoke_key: returns the revoked key. Every process refuses it within a second. Revoking it again changes nothing. */
export async function revokeKey(service: Service, call: Call<'revoke_key'>): Promise<Reply<'revoke_key'>> {
  const { key_id: sentId } = call.params;
  const keyId = fromWireId('key', sentId);
  if (keyId === undefined) throw keyMissing(sentId);
  return transactUnderKey(service, call, {
    load: { key: lockKey(keyId) },
    decide: ({ key: [row] }, { batchId }) => {
      if (row === undefined) throw keyMissing(sentId);
      const key = toApiKey(row);
      if (key.revokedAt !== null) return { record: toKeyRecord(key), subjectId: keyId, writes: [] };
      const now = row.now as Date;
      const record = toKeyRecord({ ...key, revokedAt: now });
      const { programId } = key;
      const json = JSON.stringify(record);
      const event = { type: 'key.revoked' as const, programId, subjectId: record.key_id, payload: json };
      const writes = [
        revokeStatement(keyId, now),
        insertEvents(batchId, [event], now.getTime(), call),
        ...auditOf(call, { programId, subjectId: record.key_id, details: json }),
      ];
      return { record, json, subjectId: keyId, writes };
    },
  });
}

function keyMissing(sentId: string): Refusal {
  return new Refusal('key_not_found', `There is no API key with the id '${sentId}'.`);
}
