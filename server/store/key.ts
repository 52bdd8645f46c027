import type { Row, Statement } from './connection/database.ts';
import {
  BYTES,
  columns,
  DATE,
  insertRow,
  many,
  NUMBER,
  nullable,
  type RowOf,
  statement,
  statementOfRows,
  TEXT,
  UUID,
  word,
} from './sql.ts';

const API_KEY = columns({
  keyId: UUID,
  publicPart: TEXT,
  /** SHA-256 of the secret. The secret itself is never stored. */
  secretHash: BYTES,
  /** Null for a key that is not bound to a program. */
  programId: nullable(UUID),
  name: TEXT,
  scopes: many(word()),
  createdAt: DATE,
  expiresAt: nullable(DATE),
  revokedAt: nullable(DATE),
  /** The last use, accurate to about a minute. */
  lastUsedAt: nullable(DATE),
  /** Inner UUID of the key that replaced this one. */
  replacedBy: nullable(UUID),
  /** Inner UUID of the person that the key belongs to. */
  ownerId: nullable(UUID),
  /**
   * Inner UUID of the key or the person that created the key. Null for keys of earlier versions, and for keys created by a command.
   */
  createdBy: nullable(UUID),
});

export type ApiKey = RowOf<typeof API_KEY.columns>;

const SENT_KEY = API_KEY.pick('publicPart', 'secretHash');

const FIND_KEYS = statementOfRows(
  'find_keys',
  SENT_KEY,
  `select ${API_KEY.of('found')}, (extract(epoch from found.expires_at - service_now()) * 1000)::bigint as left_ms,
      (select blocked_at from person where person.person_id = found.owner_id) as blocked_at
    from :sent cross join lateral (
      select * from api_key
      where api_key.public_part = sent.public_part::char(16) and api_key.secret_hash = sent.secret_hash limit 1
    ) as found`,
);

/**
 * Finds keys by their public parts and the hashes of their secrets. Returns the milliseconds until they expire, or null for never.
 * A known public part with a wrong secret gives no row, like an unknown public part, so both take the same work and time. Comparing
 * SHA-256 hashes in the database is safe: how many characters of two hashes agree reveals nothing about the secret.
 */
export function findKeys(sent: readonly RowOf<typeof SENT_KEY.columns>[]): Statement {
  return FIND_KEYS(sent);
}

const LIST_KEYS = statement(
  'list_keys',
  { after: nullable(UUID), scopes: nullable(many(TEXT)), count: NUMBER },
  `select ${API_KEY.names} from api_key
    where (:after::uuid is null or key_id < :after) and (:scopes is null or scopes && :scopes)
    order by key_id desc limit :count`,
);

/** Reads a page of keys, newest first, after the key `after`. If `scopes` is given, reads only keys with one of them. */
export function listKeys(scopes: readonly string[] | null, after: string | null, count: number): Statement {
  return LIST_KEYS({ after, scopes, count });
}

export function toApiKey(row: Row): ApiKey {
  return API_KEY.read(row);
}

export const insertKey = insertRow('insert_key', 'api_key', API_KEY);

const LOCK_KEY = statement(
  'lock_key',
  { keyId: UUID },
  `select ${API_KEY.names}, service_now() as now from api_key where key_id = :keyId for no key update`,
);

/** Reads one key by its inner UUID and locks it. `now` is the service's time. */
export function lockKey(keyId: string): Statement {
  return LOCK_KEY({ keyId });
}

const REVOKE_KEY = statement(
  'revoke_key',
  { keyId: UUID, now: DATE },
  'update api_key set revoked_at = coalesce(revoked_at, :now) where key_id = :keyId',
);

/** Revokes a key. A key that is already revoked keeps its time. */
export function revokeKey(keyId: string, now: Date): Statement {
  return REVOKE_KEY({ keyId, now });
}

const REPLACE_KEY = statement(
  'replace_key',
  { keyId: UUID, replacedBy: UUID, expiresAt: DATE },
  'update api_key set replaced_by = :replacedBy, expires_at = :expiresAt where key_id = :keyId',
);

/** Stores that a key is replaced by another key, and when the replaced key expires. The replaced key must be locked. */
export function replaceKey(keyId: string, replacedBy: string, expiresAt: Date): Statement {
  return REPLACE_KEY({ keyId, replacedBy, expiresAt });
}

const NOTE_KEY_USES = statement(
  'note_key_uses',
  { keyIds: many(UUID) },
  `update api_key set last_used_at = statement_timestamp() from (
      select key_id from api_key
      where key_id = any(:keyIds)
        and (last_used_at is null or last_used_at < statement_timestamp() - interval '55 seconds')
      order by key_id for no key update skip locked
    ) as used where api_key.key_id = used.key_id`,
);

/**
 * Stores that keys were used now, unless the stored time is less than a minute old. So the row of a key changes about once a
 * minute, even if many processes use it. Skips rows that another transaction has locked.
 */
export function noteKeyUses(keyIds: readonly string[]): Statement {
  return NOTE_KEY_USES({ keyIds });
}

/** Counts the valid keys that can create other keys. Live mode does not start without one. */
export const COUNT_OPERATOR_KEYS: Statement = {
  name: 'count_operator_keys',
  text: `select count(*) as count from api_key
    where scopes && '{keys:write,operator}' and revoked_at is null and (expires_at is null or expires_at > service_now())`,
  values: [],
};

/** Counts the valid keys that let a person approve every request, including changes of the approval policy. */
export const COUNT_KEYS_OF_APPROVERS: Statement = {
  name: 'count_keys_of_approvers',
  text: `select count(*) as count from api_key join person on person_id = owner_id
    where (scopes @> '{operator}' or scopes @> '{operator:read,approvals:write}') and blocked_at is null
      and revoked_at is null and (expires_at is null or expires_at > service_now())`,
  values: [],
};
