import type { Service } from '../../calls/call.ts';
import { toOperationFailure } from '../../calls/read-rows.ts';
import type { AddressRules } from '../../foundation/networks.ts';
import type { Database } from '../../store/connection/database.ts';
import { type AddressSettings, openAddressRules } from './addresses.ts';
import { requireKeys, type Vault, vaultOf, type WebhookKeys } from './vault.ts';

/** The tools that the webhook handlers need, in addition to the database. */
export type WebhookTools = {
  readonly rules: AddressRules;
  /** Encrypts secrets and headers. */
  readonly vault: Vault;
  /** Called before something is encrypted. Rejects if stored data is encrypted with a key that this process lacks. */
  readonly requireKeys: () => Promise<void>;
  /** Wakes delivery after a webhook was created, changed or deleted, or when there is something to send. */
  readonly changed: () => void;
};

export type WebhookService = Service & { readonly webhooks: WebhookTools };

/** Opens the tools. `database` must have access to all webhooks. */
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
