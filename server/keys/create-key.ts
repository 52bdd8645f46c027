import type { CreateKeyBody } from '../../contract/keys.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { auditOf } from '../audit/audit.ts';
import { type Done, transactUnderKey } from '../commit/under-key.ts';
import { idAt } from '../ids.ts';
import type { Call, Reply } from '../operations/call.ts';
import { readFuture } from '../operations/future.ts';
import { toKeyRecord, toNewKeyRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { loadProgram } from '../programs/program-funding.ts';
import { insertEvents } from '../store/event.ts';
import { type ApiKey, insertKey } from '../store/key.ts';
import { newKey } from './api-key.ts';
import { readReach, readScopes } from './key-scopes.ts';

/** create_key: 201 with the key; its secret is in this answer and nowhere else, so a replay is without it. */
export async function createKey(service: Pick<Service, 'database'>, call: Call): Promise<Reply> {
  const body = call.members as CreateKeyBody;
  const asked = readReach(call, body);
  const scopes = readScopes(call, body.scopes, asked !== undefined);
  const program = asked === undefined ? undefined : await loadProgram(service, fromWireId('prog', asked), asked);
  const { key, publicPart, secretHash } = newKey();
  return transactUnderKey(service, call, {
    load: {},
    decide: (_, { batchId, now }) => {
      const made: ApiKey = {
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
      const shown = toKeyRecord(made);
      const { programId, keyId } = made;
      const payload = JSON.stringify(shown);
      const event = { type: 'key.created' as const, programId, subjectId: shown.key_id, payload };
      const writes = [
        insertKey(made),
        insertEvents(batchId, [event], now),
        auditOf(call, { programId, subjectId: shown.key_id, details: payload }),
      ];
      return { status: 201, ...bodiesOf(made, key), subjectId: keyId, writes };
    },
  });
}

/** The response that shows the secret, and what is stored of it: all but the secret. */
export function bodiesOf(made: ApiKey, secret: string): Pick<Done, 'body' | 'stored'> {
  return { body: JSON.stringify(toNewKeyRecord(made, secret)), stored: JSON.stringify(toNewKeyRecord(made, null)) };
}
