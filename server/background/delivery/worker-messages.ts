import type { ConnectionSettings } from '../../store/connection/connections.ts';
import type { AddressSettings } from '../../subjects/webhooks/addresses.ts';

/** What the thread that delivers is given when it starts. */
export type WorkerSettings = {
  readonly connection: ConnectionSettings;
  /** How many connections it may open. */
  readonly connections: number;
  readonly addresses: AddressSettings;
  /** Certificates in PEM. */
  readonly ca: string | null;
  /** The keys of the secrets. */
  readonly keys: readonly Uint8Array[];
};

/** What the thread is told. */
export type ToWorker =
  | { readonly kind: 'news'; readonly programIds: readonly string[] }
  | { readonly kind: 'changed' }
  | { readonly kind: 'stop' };

/** How attempts to deliver have ended since the last message, and how many are in flight. */
export type Deliveries = {
  readonly succeeded: number;
  /** Refused, or not connected. */
  readonly failed: number;
  readonly timedOut: number;
  readonly inFlight: number;
};

/** What the thread tells. */
export type FromWorker =
  | { readonly kind: 'deliveries'; readonly deliveries: Deliveries }
  | { readonly kind: 'failure'; readonly cause: string }
  | { readonly kind: 'notice'; readonly sentence: string; readonly webhookId: string };
