import { clampToLastMoment } from '../../../contract/reading/times.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { type Call, type Reply, schemaRefusal } from '../../calls/call.ts';
import { readFuture } from '../../calls/moments.ts';
import type { Service } from '../../calls/service.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { type ApiKey, insertKey, lockKey, replaceKey, toApiKey } from '../../store/key.ts';
import { auditOf } from '../audit/audit.ts';
import { newKey } from './api-key.ts';
import { refuseFurtherScopes } from './create-key.ts';
import { toKeyRecord, toNewKeyRecord } from './read-keys.ts';
import { keyMissing } from './revoke-key.ts';

/** How long the old key remains valid by default: a day in which clients can switch to the new one. */
export const DEFAULT_OVERLAP_MILLISECONDS = 86_400_000;

/**
 * roll_key: a new key with the scopes of the old one. Both work until the old one expires. The caller sets when each of
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

/** Refuses to roll a key that no longer works, since that could not avoid a gap, or one that was already rolled. */
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
