import type { Row, Statement } from './database.ts';

/** An API key as it is kept: never the secret, only its SHA-256. */
export type ApiKey = {
  readonly keyId: string;
  readonly publicPart: string;
  readonly secretHash: Buffer;
  /** Inner UUID of the program, or null for an operator's key. */
  readonly programId: string | null;
  readonly name: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
};

const COLUMNS = 'key_id, public_part, secret_hash, program_id, name, created_at, expires_at, revoked_at';

/** Finds a key by the part of it that is not secret. */
export function readKey(publicPart: string): Statement {
  return { name: 'read_key', text: `select ${COLUMNS} from api_key where public_part = $1`, values: [publicPart] };
}

/** Reads a page of keys, newest first, that come after the key `after`. */
export function listKeys(after: string | null, count: number): Statement {
  return {
    name: 'list_keys',
    text: `select ${COLUMNS} from api_key where $1::uuid is null or key_id < $1 order by key_id desc limit $2`,
    values: [after, count],
  };
}

/** A key from a row of {@link readKey} or {@link listKeys}. */
export function toApiKey(row: Row): ApiKey {
  return {
    keyId: row.key_id as string,
    publicPart: row.public_part as string,
    secretHash: row.secret_hash as Buffer,
    programId: row.program_id as string | null,
    name: row.name as string,
    createdAt: row.created_at as Date,
    expiresAt: row.expires_at as Date | null,
    revokedAt: row.revoked_at as Date | null,
  };
}

/** Keeps a new key. */
export function insertKey(key: ApiKey): Statement {
  return {
    name: 'insert_key',
    text: `insert into api_key (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      key.keyId,
      key.publicPart,
      key.secretHash,
      key.programId,
      key.name,
      key.createdAt,
      key.expiresAt,
      key.revokedAt,
    ],
  };
}

/** Reads one key by its inner UUID and locks it. */
export function lockKey(keyId: string): Statement {
  return {
    name: 'lock_key',
    text: `select ${COLUMNS}, clock_timestamp() as now from api_key where key_id = $1 for no key update`,
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

/** How many keys work for operators: live mode does not start without one. */
export const COUNT_OPERATOR_KEYS: Statement = {
  name: 'count_operator_keys',
  text: 'select count(*) as count from api_key where program_id is null and revoked_at is null',
  values: [],
};
