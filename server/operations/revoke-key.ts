import { fromWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { insertEvents } from '../store/event.ts';
import { lockKey, revokeKey as revokeKeyStatement, toApiKey } from '../store/key.ts';
import type { Call, Reply } from './call.ts';
import { toKeyRecord } from './records.ts';
import type { Service } from './service.ts';
import { transact } from './transaction.ts';

/** revoke_key: the key, revoked; it stops working on every process within a second. Revoking twice changes nothing. */
export async function revokeKey(service: Service, call: Call): Promise<Reply> {
  const asked = call.parameters.key_id ?? '';
  const keyId = fromWireId('key', asked);
  const missing = new Refusal('key_dne', `There is no API key with the id '${asked}'.`);
  if (keyId === undefined) throw missing;
  const record = await transact(service.database, call.deadline, { key: lockKey(keyId) }, (loaded, batchId) => {
    const [row] = loaded.key;
    if (row === undefined) throw missing;
    const key = toApiKey(row);
    if (key.revokedAt !== null) return { result: toKeyRecord(key), writes: [] };
    const now = row.now as Date;
    const revoked = toKeyRecord({ ...key, revokedAt: now });
    const event = {
      type: 'key.revoked' as const,
      programId: key.programId,
      subjectId: revoked.key_id,
      payload: JSON.stringify(revoked),
    };
    return {
      result: revoked,
      writes: [revokeKeyStatement(keyId, now), insertEvents(batchId, [event], now.getTime())],
    };
  });
  return { status: 200, body: JSON.stringify(record) };
}
