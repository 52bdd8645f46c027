import type { RollKeyBody } from '../../contract/keys.ts';
import { atMostLastMoment } from '../../contract/reading/times.ts';
import { fromWireId, toWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { auditOf } from '../audit/audit.ts';
import { transactUnderKey } from '../commit/under-key.ts';
import { idAt } from '../ids.ts';
import type { Call, Reply } from '../operations/call.ts';
import { readFuture } from '../operations/future.ts';
import { toKeyRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { insertEvents } from '../store/event.ts';
import { type ApiKey, insertKey, lockKey, replaceKey, toApiKey } from '../store/key.ts';
import { newKey } from './api-key.ts';
import { bodiesOf } from './create-key.ts';
import { keyMissing } from './revoke-key.ts';

/** How long the old key works on when nobody says, in milliseconds: a day, in which its bearers can be changed. */
const USUAL_OVERLAP = 86_400_000;

/**
 * roll_key: 201 with a new key that may do what the old one may. Both work until the old one expires; how long a key
 * works is the caller's to say, but no roll ever makes a key work longer than it would have. A replay rolls nothing and is
 * without the secret.
 */
export async function rollKey(service: Service, call: Call): Promise<Reply> {
  const body = call.members as RollKeyBody;
  const asked = call.parameters.key_id ?? '';
  const keyId = fromWireId('key', asked);
  if (keyId === undefined) throw keyMissing(asked);
  const { key, publicPart, secretHash } = newKey();
  return transactUnderKey(service, call, {
    load: { key: lockKey(keyId) },
    decide: ({ key: [row] }, { batchId }) => {
      if (row === undefined) throw keyMissing(asked);
      const old = toApiKey(row);
      const now = row.now as Date;
      insistOnWorking(asked, old, now);
      const until = readFuture(call, 'previous_until', body.previous_until, now.getTime());
      const made: ApiKey = {
        ...old,
        keyId: idAt(now.getTime()),
        publicPart,
        secretHash,
        createdAt: now,
        expiresAt: readFuture(call, 'expires_at', body.expires_at, now.getTime()) ?? asLongAs(old, now),
        lastUsedAt: null,
      };
      const shown = toKeyRecord(made);
      const replaced = {
        ...old,
        replacedBy: made.keyId,
        expiresAt: earlier(until ?? new Date(now.getTime() + USUAL_OVERLAP), old.expiresAt),
      };
      const { programId } = old;
      const details = JSON.stringify({ ...shown, replaces: toKeyRecord(replaced) });
      const event = { type: 'key.rolled' as const, programId, subjectId: shown.key_id, payload: details };
      const writes = [
        insertKey(made),
        replaceKey(keyId, made.keyId, replaced.expiresAt),
        insertEvents(batchId, [event], now.getTime()),
        auditOf(call, { programId, subjectId: shown.key_id, details }),
      ];
      return { status: 201, ...bodiesOf(made, key), subjectId: made.keyId, writes };
    },
  });
}

/** A key that does not work cannot be replaced without a gap, and one that was replaced has a successor to roll. */
function insistOnWorking(asked: string, key: ApiKey, now: Date): void {
  const refuse = (why: string): never => {
    throw new Refusal('roll_key_schema', why, { field: '/key_id' });
  };
  if (key.revokedAt !== null) refuse(`The key '${asked}' was revoked. Create a new one.`);
  if (key.expiresAt !== null && key.expiresAt <= now) refuse(`The key '${asked}' has expired. Create a new one.`);
  if (key.replacedBy !== null) {
    refuse(`The key '${asked}' was rolled before. Roll '${toWireId('key', key.replacedBy)}', which took its place.`);
  }
}

function asLongAs({ createdAt, expiresAt }: ApiKey, now: Date): Date | null {
  if (expiresAt === null) return null;
  return new Date(atMostLastMoment(now.getTime() + expiresAt.getTime() - createdAt.getTime()));
}

function earlier(one: Date, other: Date | null): Date {
  return other !== null && other < one ? other : one;
}
