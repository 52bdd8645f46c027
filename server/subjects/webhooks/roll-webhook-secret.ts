import type { Call, Reply } from '../../calls/call.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { idAt } from '../../foundation/ids.ts';
import { deleteOtherSecrets, expireSecrets, insertSecret } from '../../store/webhooks/secret.ts';
import { lockWebhook, readWebhook, type StoredSecret, updateWebhook } from '../../store/webhooks/webhook.ts';
import { auditOf } from '../audit/audit.ts';
import { foundWebhook, keysOf, programOf, webhookIdOf } from './find-webhook.ts';
import { toNewWebhookRecord, toWebhookRecord } from './record.ts';
import type { WebhookService } from './tools.ts';
import { newSecret } from './vault.ts';

type RollId = 'roll_webhook_secret' | 'roll_operator_webhook_secret';

/** Maximum number of secrets that sign at the same time, the new one included. */
const MAX_SECRETS = 3;

/** How long earlier secrets also sign by default: a day in which receivers can switch to the new one. */
export const DEFAULT_OVERLAP_MILLISECONDS = 86_400_000;

/**
 * roll_webhook_secret and roll_operator_webhook_secret: the webhook with a new secret, which signs from now on. Earlier
 * ones sign until they expire, and a roll never extends them. A replay rolls nothing and does not contain the secret.
 */
export async function rollWebhookSecret(service: WebhookService, call: Call<RollId>): Promise<Reply<RollId>> {
  const { vault, requireKeys, changed } = service.webhooks;
  const { previous_until: sent } = call.body;
  const webhookId = webhookIdOf(call);
  const programId = programOf(call);
  await requireKeys();
  const secret = newSecret();
  const sealed = vault.seal(secret, webhookId);
  const reply = await transactUnderKey(service, call, {
    ...keysOf(call),
    load: { lock: lockWebhook(webhookId, programId), webhook: readWebhook(webhookId, programId) },
    decide: (loaded, { now }) => {
      const before = foundWebhook(call, loaded.webhook);
      // By the real time, as for signatures, even if the clock of a sandbox is ahead.
      const realNow = databaseTime();
      const until = sent === undefined ? realNow + DEFAULT_OVERLAP_MILLISECONDS : Date.parse(sent);
      const earlier = expireEarlier(before.secrets, until, realNow);
      const createdAt = new Date(now);
      const created: StoredSecret = { secretId: idAt(now), createdAt: now, expiresAt: null };
      const after = { ...before, secrets: [created, ...earlier], updatedAt: createdAt };
      const shown = toWebhookRecord(after);
      const { programId: ofProgram } = before;
      const writes = [
        updateWebhook(after),
        deleteOtherSecrets(
          webhookId,
          earlier.map(({ secretId }) => secretId),
        ),
        expireSecrets(earlier.map(({ secretId, expiresAt }) => ({ secretId, expiresAt: new Date(expiresAt) }))),
        insertSecret({ ...created, webhookId, programId: ofProgram, sealed, createdAt, expiresAt: null }),
        ...auditOf(call, { programId: ofProgram, subjectId: shown.webhook_id, details: JSON.stringify(shown) }),
      ];
      return {
        record: toNewWebhookRecord(after, secret),
        stored: toNewWebhookRecord(after, null),
        subjectId: webhookId,
        writes,
      };
    },
  });
  changed();
  return reply;
}

/** The earlier secrets that still sign, newest first: until `until`, or until they expire if that is earlier. */
function expireEarlier(
  secrets: readonly StoredSecret[],
  until: number,
  now: number,
): readonly (StoredSecret & { readonly expiresAt: number })[] {
  return secrets
    .slice(0, MAX_SECRETS - 1)
    .map((secret) => ({ ...secret, expiresAt: Math.min(secret.expiresAt ?? until, until) }))
    .filter(({ expiresAt }) => expiresAt > now);
}
