import type { KeyRecord, NewKeyRecord } from '../../../contract/keys.ts';
import { inOrder, roleOf } from '../../../contract/scope.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import type { Service } from '../../calls/service.ts';
import type { ApiKey } from '../../store/key.ts';
import { listKeys as listStatement, toApiKey } from '../../store/key.ts';

/** list_keys: a page, newest first, without secrets. */
export async function listKeys(service: Service, call: Call<'list_keys'>): Promise<Reply<'list_keys'>> {
  const record = await readPage(service, call, {
    prefix: 'key',
    statement: listStatement,
    read: toApiKey,
    idOf: (key) => key.keyId,
    show: toKeyRecord,
  });
  return { record };
}

/** A key as the contract shows it, without its secret. */
export function toKeyRecord(key: ApiKey): KeyRecord {
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
  };
}

const KEY_OMITTED =
  'The secret is in the first response only and is not stored. If that response was lost, roll this key with a new ' +
  'Idempotency-Key to get a new secret, or revoke it.';

/** A new key as the contract shows it: with its secret in the first response, and without (`secret` null) in a replay. */
export function toNewKeyRecord(key: ApiKey, secret: string | null): NewKeyRecord {
  return { ...toKeyRecord(key), key: secret, key_omitted: secret === null ? KEY_OMITTED : null };
}
