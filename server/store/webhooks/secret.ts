import type { Row, Statement } from '../connection/database.ts';
import {
  BYTES,
  columns,
  DATE,
  insertRow,
  many,
  nullable,
  type RowOf,
  statement,
  statementOfRows,
  UUID,
} from '../sql.ts';

const SECRET = columns({
  secretId: UUID,
  webhookId: UUID,
  programId: nullable(UUID),
  /** The encrypted secret. */
  sealed: BYTES,
  createdAt: DATE,
  /** Null for the newest secret. */
  expiresAt: nullable(DATE),
});

export type WebhookSecret = RowOf<typeof SECRET.columns>;

export const insertSecret = insertRow('insert_webhook_secret', 'webhook_secret', SECRET);

/** Sets when secrets expire. Their webhook must be locked. */
export const expireSecrets = statementOfRows(
  'expire_webhook_secrets',
  SECRET.pick('secretId', 'expiresAt'),
  'update webhook_secret set expires_at = sent.expires_at from :sent where webhook_secret.secret_id = sent.secret_id',
);

const DELETE_OTHER_SECRETS = statement(
  'delete_other_webhook_secrets',
  { webhookId: UUID, secretIds: many(UUID) },
  'delete from webhook_secret where webhook_id = :webhookId and secret_id <> all (:secretIds)',
);

/** Deletes a webhook's secrets, except some. The webhook must be locked. */
export function deleteOtherSecrets(webhookId: string, secretIds: readonly string[]): Statement {
  return DELETE_OTHER_SECRETS({ webhookId, secretIds });
}

/** Reads which keys encrypt secrets. Each key is identified by four bytes, `key_id`. */
export const READ_KEY_IDS: Statement = {
  name: 'read_webhook_key_ids',
  text: `select substr(sealed, 2, 4) as key_id from webhook_secret
    union select substr(headers, 2, 4) from webhook where headers is not null`,
  values: [],
};

export function toKeyIds(rows: readonly Row[]): readonly Buffer[] {
  return rows.map((row) => row.key_id as Buffer);
}

const SEALED = columns({ webhookId: UUID, sealed: BYTES });

const READ_SEALED_BY_OTHERS = statement(
  'read_webhook_texts_of_other_keys',
  { keyId: BYTES },
  `select webhook_id, sealed from webhook_secret where substr(sealed, 2, 4) <> :keyId
    union all select webhook_id, headers from webhook where substr(headers, 2, 4) <> :keyId`,
);

/** Reads the values that are encrypted with a different key. */
export function readSealedByOthers(keyId: Buffer): Statement {
  return READ_SEALED_BY_OTHERS({ keyId });
}

/** An encrypted value and its webhook. */
export const toSealed: (row: Row) => { readonly webhookId: string; readonly sealed: Buffer } = SEALED.read;

const RESEAL = statement(
  'reseal_webhook_text',
  { webhookId: UUID, before: BYTES, after: BYTES },
  `with secret as (
      update webhook_secret set sealed = :after where webhook_id = :webhookId and sealed = :before
    )
    update webhook set headers = case when headers = :before then :after else headers end, revision = revision + 1
    where webhook_id = :webhookId`,
);

/** Replaces an encrypted value, unless it has changed since `before` was read. */
export function reseal(webhookId: string, before: Buffer, after: Buffer): Statement {
  return RESEAL({ webhookId, before, after });
}
