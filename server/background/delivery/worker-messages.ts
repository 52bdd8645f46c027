import type { ConnectionSettings } from '../../store/connection/connections.ts';
import type { AddressSettings } from '../../subjects/webhooks/addresses.ts';

export type WorkerSettings = {
  readonly connection: ConnectionSettings;
  /** Maximum number of connections that the thread may open. */
  readonly connections: number;
  readonly addresses: AddressSettings;
  /** Certificates in PEM. */
  readonly ca: string | null;
  readonly keys: readonly Uint8Array[];
};

export type ToWorker =
  | { readonly kind: 'news'; readonly programIds: readonly string[] }
  | { readonly kind: 'changed' }
  | { readonly kind: 'stop' };

/** The results of attempts since the last message, and the number of requests in flight. */
export type Deliveries = {
  readonly succeeded: number;
  /** The number of failures, except timeouts. */
  readonly failed: number;
  readonly timedOut: number;
  readonly inFlight: number;
};

export type FromWorker =
  | { readonly kind: 'deliveries'; readonly deliveries: Deliveries }
  | { readonly kind: 'failure'; readonly cause: string }
  | { readonly kind: 'notice'; readonly sentence: string; readonly webhookId: string };
