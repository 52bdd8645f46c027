import { StartupProblem } from '../../foundation/startup-problem.ts';
import type { Database } from '../../store/connection/database.ts';
import { READ_KEY_IDS, readSealedByOthers, reseal, toKeyIds, toSealed } from '../../store/webhooks/sealed.ts';
import { keyIdOf, openVault } from './vault.ts';
import type { WebhookKeys } from './webhook-keys.ts';

/**
 * Checks that this process can decrypt the secrets and headers of all webhooks. Otherwise two processes, each with a
 * generated key of its own, would encrypt secrets that the other cannot read.
 *
 * @throws {StartupProblem} if something is encrypted with a key that this process does not have
 */
export async function requireKeys(database: Database, { read, origin }: WebhookKeys): Promise<void> {
  const used = toKeyIds(await database.read(READ_KEY_IDS));
  // Read afterwards: a request that made the first key meanwhile has stored it before it used it.
  const keys = read().map(keyIdOf);
  if (used.some((id) => !keys.some((key) => key.equals(id)))) throw unknownKey(origin, keys.length);
}

/** The same at the start of the service; then encrypts again, with the first key, what other keys have encrypted. */
export async function resealSecrets(database: Database, keys: WebhookKeys): Promise<void> {
  await requireKeys(database, keys);
  const [first] = keys.read();
  if (first === undefined) return;
  const vault = openVault(keys.read());
  for (const { webhookId, sealed } of (await database.read(readSealedByOthers(keyIdOf(first)))).map(toSealed)) {
    await database.writeUnguarded(reseal(webhookId, sealed, vault.seal(vault.open(sealed, webhookId), webhookId)));
  }
}

function unknownKey(origin: string, count: number): StartupProblem {
  const here = count === 0 ? `there is none in ${origin}` : `it is not in ${origin}`;
  return new StartupProblem(
    'webhook-key',
    `The secrets of webhooks in the database are encrypted with a key that this process does not have: ${here}. ` +
      'Set WEBHOOK_KEY to the key that they are encrypted with; to change the key, to the new one, a comma, and the earlier one. ' +
      'The key of a service without WEBHOOK_KEY is in the file webhook-key of its DATA_DIR.',
  );
}
