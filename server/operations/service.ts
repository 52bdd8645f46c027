import type { EventNews } from '../events/event-news.ts';
import type { Database } from '../store/connection/database.ts';
import type { TransferLane } from '../transfers/load.ts';
import type { AddressRules } from '../webhooks/addresses.ts';
import type { Vault } from '../webhooks/vault.ts';

/** What handlers work with. */
export type Service = {
  /** With the reach of the operation: the card program of the request, or all of them for operators and jobs. */
  readonly database: Database;
  /** Commits transfers in groups. */
  readonly transfers: TransferLane;
  /** Wakes those who wait for events. */
  readonly news: EventNews;
  readonly webhooks: WebhookTools;
  /** How customers reach support, for error records inside a success. */
  readonly supportContact: string;
};

/** What handlers of webhooks work with. */
export type WebhookTools = {
  /** Where webhooks may be sent to. */
  readonly rules: AddressRules;
  /** Encrypts secrets and headers. */
  readonly vault: Vault;
  /** Rejects if something is encrypted with a key that this process does not have: before it encrypts with its own. */
  readonly requireKeys: () => Promise<void>;
  /** Tells whoever delivers that a webhook was created, changed or deleted, or that something is to be sent. */
  readonly changed: () => void;
};
