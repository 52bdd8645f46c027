import { inOrder, isOfOperators, KEY_SCOPES, type KeyScope } from '../../contract/scope.ts';
import { auditOf } from '../audit/audit.ts';
import { transactUnderKey } from '../commit/under-key.ts';
import { idAt } from '../ids.ts';
import { type Call, type Reply, schemaRefusal } from '../operations/call.ts';
import { readFuture } from '../operations/moments.ts';
import type { Service } from '../operations/service.ts';
import { loadProgram } from '../programs/program-funding.ts';
import { insertEvents } from '../store/events/insert-events.ts';
import { type ApiKey, insertKey } from '../store/key.ts';
import { newKey } from './api-key.ts';
import { toKeyRecord, toNewKeyRecord } from './record.ts';

type CreateCall = Call<'create_key'>;

/** create_key: the key. Its secret is in this response only, so a replay is without it. */
export async function createKey(service: Pick<Service, 'database'>, call: CreateCall): Promise<Reply<'create_key'>> {
  const { body } = call;
  const sentId = readProgramId(call);
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
        insertEvents(batchId, [event], now, call.traceparent),
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

function readScopes(call: CreateCall, isBound: boolean): readonly KeyScope[] {
  const sent: readonly unknown[] = call.body.scopes;
  const unknown = sent.findIndex((scope) => !isScope(scope));
  if (unknown !== -1) {
    const known = KEY_SCOPES.map((scope) => `'${scope}'`).join(', ');
    const message = `'scopes' can only contain ${known}, and its item ${unknown + 1} is none of them.`;
    throw schemaRefusal(call, message, `/scopes/${unknown}`);
  }
  const scopes = inOrder(sent.filter(isScope));
  const ofOperators = scopes.find(isOfOperators);
  if (isBound && ofOperators !== undefined) {
    const message =
      `'scopes' contains '${ofOperators}', but an operator acts in all card programs. Send 'all_programs': true instead of ` +
      `'program_id', or omit '${ofOperators}'.`;
    throw schemaRefusal(call, message, '/scopes');
  }
  return scopes;
}

function isScope(sent: unknown): sent is KeyScope {
  return KEY_SCOPES.some((scope) => scope === sent);
}
