import { toOperationFailure } from '../commit/transaction.ts';
import type { WebhookTools } from '../operations/service.ts';
import type { Database } from '../store/connection/database.ts';
import { type AddressSettings, openAddressRules } from './addresses.ts';
import { requireKeys } from './reseal-secrets.ts';
import { vaultOf, type WebhookKeys } from './webhook-keys.ts';

/** What handlers of webhooks work with; `database` must see all webhooks. */
export function openWebhookTools(
  database: Database,
  keys: WebhookKeys,
  addresses: AddressSettings,
  changed: WebhookTools['changed'],
): WebhookTools {
  return {
    rules: openAddressRules(addresses),
    vault: vaultOf(keys),
    requireKeys: () => requireKeys(database, keys).catch((error) => Promise.reject(toOperationFailure(error))),
    changed,
  };
}
