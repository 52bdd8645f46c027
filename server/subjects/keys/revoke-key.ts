import { fromWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Call, Reply } from '../../calls/call.ts';
import type { Service } from '../../calls/service.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { lockKey, revokeKey as revokeStatement, toApiKey } from '../../store/key.ts';
import { auditOf } from '../audit/audit.ts';
import { toKeyRecord } from './read-keys.ts';

/** revoke_key: the revoked key. Every process refuses it within a second. Revoking it again changes nothing. */
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

/** The refusal of an id that no key has, as it was sent. */
export function keyMissing(sentId: string): Refusal {
  return new Refusal('key_not_found', `There is no API key with the id '${sentId}'.`);
}
