import { fromWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { auditOf } from '../audit/audit.ts';
import { transactUnderKey } from '../commit/under-key.ts';
import type { Call, Reply } from '../operations/call.ts';
import { toKeyRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { insertEvents } from '../store/event.ts';
import { lockKey, revokeKey as revokeKeyStatement, toApiKey } from '../store/key.ts';

/** revoke_key: the key, revoked; it stops working on every process within a second. Revoking twice changes nothing. */
export async function revokeKey(service: Service, call: Call): Promise<Reply> {
  const asked = call.parameters.key_id ?? '';
  const keyId = fromWireId('key', asked);
  if (keyId === undefined) throw keyMissing(asked);
  return transactUnderKey(service, call, {
    load: { key: lockKey(keyId) },
    decide: ({ key: [row] }, { batchId }) => {
      if (row === undefined) throw keyMissing(asked);
      const key = toApiKey(row);
      if (key.revokedAt !== null) {
        return { status: 200, body: JSON.stringify(toKeyRecord(key)), subjectId: keyId, writes: [] };
      }
      const now = row.now as Date;
      const revoked = toKeyRecord({ ...key, revokedAt: now });
      const { programId } = key;
      const body = JSON.stringify(revoked);
      const event = { type: 'key.revoked' as const, programId, subjectId: revoked.key_id, payload: body };
      const writes = [
        revokeKeyStatement(keyId, now),
        insertEvents(batchId, [event], now.getTime()),
        auditOf(call, { programId, subjectId: revoked.key_id, details: body }),
      ];
      return { status: 200, body, subjectId: keyId, writes };
    },
  });
}

/** The refusal of an id that no key has. */
export function keyMissing(asked: string): Refusal {
  return new Refusal('key_not_found', `There is no API key with the id '${asked}'.`);
}
