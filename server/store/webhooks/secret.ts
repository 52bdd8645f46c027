import type { Statement } from '../connection/database.ts';
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
  /** Encrypted. */
  sealed: BYTES,
  createdAt: DATE,
  /** Null for the newest one. */
  expiresAt: nullable(DATE),
});

/** A secret of a webhook as it is stored. */
export type WebhookSecret = RowOf<typeof SECRET.columns>;

/** Inserts a secret. */
export const insertSecret = insertRow('insert_webhook_secret', 'webhook_secret', SECRET);

/** Sets when secrets expire; their webhook must be locked. */
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

/** Deletes the secrets of a webhook, which must be locked, except some. */
export function deleteOtherSecrets(webhookId: string, secretIds: readonly string[]): Statement {
  return DELETE_OTHER_SECRETS({ webhookId, secretIds });
}
