import type { Row, Statement } from './connection/database.ts';
import { plainArray } from './texts.ts';

/** An API key as it is kept: never the secret, only its SHA-256. */
export type ApiKey = {
  readonly keyId: string;
  readonly publicPart: string;
  readonly secretHash: Buffer;
  /** Inner UUID of the program, or null for a key that is bound to none. */
  readonly programId: string | null;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** Exact to about a minute. */
  readonly lastUsedAt: Date | null;
  /** Inner UUID of the key that takes its place. */
  readonly replacedBy: string | null;
};

const COLUMNS =
  'key_id, public_part, secret_hash, program_id, name, created_at, expires_at, revoked_at, scopes, last_used_at, ' +
  'replaced_by';

/**
 * Finds a key by its public part and the hash of its secret, with the milliseconds that it has left, null for no end. A
 * known public part with another secret gives no row, as an unknown one does, so both take the same work and time. The
 * database compares SHA-256 hashes: how far two of them agree says nothing about the secret.
 */
export function readKey(publicPart: string, secretHash: Buffer): Statement {
  return {
    name: 'read_key',
    text: `select ${COLUMNS}, (extract(epoch from expires_at - service_now()) * 1000)::bigint as left_ms
      from api_key where public_part = $1 and secret_hash = $2`,
    values: [publicPart, secretHash],
  };
}

/** Reads a page of keys, newest first, that come after the key `after`. */
export function listKeys(after: string | null, count: number): Statement {
  return {
    name: 'list_keys',
    text: `select ${COLUMNS} from api_key where $1::uuid is null or key_id < $1 order by key_id desc limit $2`,
    values: [after, count],
  };
}

/** A key from a row of {@link readKey}, {@link lockKey} or {@link listKeys}. */
export function toApiKey(row: Row): ApiKey {
  return {
    keyId: row.key_id as string,
    publicPart: row.public_part as string,
    secretHash: row.secret_hash as Buffer,
    programId: row.program_id as string | null,
    name: row.name as string,
    scopes: row.scopes as string[],
    createdAt: row.created_at as Date,
    expiresAt: row.expires_at as Date | null,
    revokedAt: row.revoked_at as Date | null,
    lastUsedAt: row.last_used_at as Date | null,
    replacedBy: row.replaced_by as string | null,
  };
}

/** Keeps a new key. */
export function insertKey(key: ApiKey): Statement {
  return {
    name: 'insert_key',
    text: `insert into api_key (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    values: [
      key.keyId,
      key.publicPart,
      key.secretHash,
      key.programId,
      key.name,
      key.createdAt,
      key.expiresAt,
      key.revokedAt,
      key.scopes,
      key.lastUsedAt,
      key.replacedBy,
    ],
  };
}

/** Reads one key by its inner UUID and locks it; `now` is the time of the service. */
export function lockKey(keyId: string): Statement {
  return {
    name: 'lock_key',
    text: `select ${COLUMNS}, service_now() as now from api_key where key_id = $1 for no key update`,
    values: [keyId],
  };
}

/** Marks a key as revoked; a key that was revoked before keeps its time. */
export function revokeKey(keyId: string, now: Date): Statement {
  return {
    name: 'revoke_key',
    text: 'update api_key set revoked_at = coalesce(revoked_at, $2) where key_id = $1',
    values: [keyId, now],
  };
}

/** Says which key takes a key's place, and until when it works; it must be locked. */
export function replaceKey(keyId: string, replacedBy: string, expiresAt: Date): Statement {
  return {
    name: 'replace_key',
    text: 'update api_key set replaced_by = $2, expires_at = $3 where key_id = $1',
    values: [keyId, replacedBy, expiresAt],
  };
}

/**
 * Writes when keys were last used: now, where that is more than a minute after what is written. However many processes
 * use a key, its row changes about once a minute. A row that somebody holds is left for the next time.
 */
export function noteKeyUses(keyIds: readonly string[]): Statement {
  return {
    name: 'note_key_uses',
    text: `update api_key set last_used_at = clock_timestamp() from (
        select key_id from api_key
        where key_id = any($1::uuid[])
          and (last_used_at is null or last_used_at < clock_timestamp() - interval '55 seconds')
        order by key_id for no key update skip locked
      ) as used where api_key.key_id = used.key_id`,
    values: [plainArray(keyIds)],
  };
}

/** How many keys work for operators: live mode does not start without one. */
export const COUNT_OPERATOR_KEYS: Statement = {
  name: 'count_operator_keys',
  text: `select count(*) as count from api_key
    where 'operator' = any(scopes) and revoked_at is null and (expires_at is null or expires_at > service_now())`,
  values: [],
};
