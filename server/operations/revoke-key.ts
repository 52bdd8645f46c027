import { fromWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { insertEvents } from '../store/event.ts';
import { lockKey, revokeKey as revokeKeyStatement, toApiKey } from '../store/key.ts';
import { auditOf } from './audit.ts';
import type { Call, Reply } from './call.ts';
import { toKeyRecord } from './records.ts';
import type { Service } from './service.ts';
import { transact } from './transaction.ts';

/** revoke_key: the key, revoked; it stops working on every process within a second. Revoking twice changes nothing. */
export async function revokeKey(service: Service, call: Call): Promise<Reply> {
  const asked = call.parameters.key_id ?? '';
  const keyId = fromWireId('key', asked);
  if (keyId === undefined) throw keyMissing(asked);
  const record = await transact(service.database, call.deadline, { key: lockKey(keyId) }, (loaded, batchId) => {
    const [row] = loaded.key;
    if (row === undefined) throw keyMissing(asked);
    const key = toApiKey(row);
    if (key.revokedAt !== null) return { result: toKeyRecord(key), writes: [] };
    const now = row.now as Date;
    const revoked = toKeyRecord({ ...key, revokedAt: now });
    const { programId } = key;
    const payload = JSON.stringify(revoked);
    const event = { type: 'key.revoked' as const, programId, subjectId: revoked.key_id, payload };
    const writes = [
      revokeKeyStatement(keyId, now),
      insertEvents(batchId, [event], now.getTime()),
      auditOf(call, { programId, subjectId: revoked.key_id, details: payload }),
    ];
    return { result: revoked, writes };
  });
  return { status: 200, body: JSON.stringify(record) };
}

/** The refusal of an id that no key has. */
export function keyMissing(asked: string): Refusal {
  return new Refusal('key_dne', `There is no API key with the id '${asked}'.`);
}
