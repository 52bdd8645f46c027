import { randomUUIDv7 } from 'node:crypto';
import type { CreateKeyBody } from '../../contract/operator-schemas.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { insertEvents } from '../store/event.ts';
import { type ApiKey, insertKey } from '../store/key.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';
import { newKey } from './api-key.ts';
import { auditOf } from './audit.ts';
import type { Call, Reply } from './call.ts';
import { readFuture } from './future.ts';
import { readScopes } from './key-scopes.ts';
import { loadProgram } from './program-funding.ts';
import { toKeyRecord } from './records.ts';
import type { Service } from './service.ts';
import { transact } from './transaction.ts';

/** create_key: 201 with the key; its secret is in this answer and nowhere else. */
export async function createKey(service: Pick<Service, 'database'>, call: Call): Promise<Reply> {
  const body = call.members as CreateKeyBody;
  const { program_id: asked } = body;
  const scopes = readScopes(call, body.scopes, asked !== undefined);
  const program = asked === undefined ? undefined : await loadProgram(service, fromWireId('prog', asked), asked);
  const { key, publicPart, secretHash } = newKey();
  const record = await transact(service.database, call.deadline, { clock: READ_SWITCH }, (loaded, batchId) => {
    const { now } = toSwitchReading(loaded.clock);
    const kept: ApiKey = {
      keyId: randomUUIDv7(),
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
    const shown = toKeyRecord(kept);
    const { programId } = kept;
    const payload = JSON.stringify(shown);
    const event = { type: 'key.created' as const, programId, subjectId: shown.key_id, payload };
    const writes = [
      insertKey(kept),
      insertEvents(batchId, [event], now),
      auditOf(call, { programId, subjectId: shown.key_id, details: payload }),
    ];
    return { result: shown, writes };
  });
  return { status: 201, body: JSON.stringify({ ...record, key }) };
}
