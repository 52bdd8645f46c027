import type { Health } from '../../../../domain/webhooks/health.ts';
import type { AttemptKind, WebhookOrder, WebhookPayload } from '../../../../domain/webhooks/webhook.ts';
import { readSigningKey } from '../../../foundation/signature.ts';
import type { DeliveredWebhook, SigningSecret } from '../../../store/webhooks/state.ts';
import { openHeaders } from '../../../subjects/webhooks/settings.ts';
import type { Vault } from '../../../subjects/webhooks/vault.ts';
import type { FeedEvent } from './event-feed.ts';
import type { Place } from './places.ts';

/** The stored settings and state of a webhook, as delivery uses them. */
export type Definition = {
  readonly webhookId: string;
  /** Null for a webhook of operators. */
  readonly programId: string | null;
  readonly url: string;
  /** Types and groups of events. Null for all. */
  readonly types: ReadonlySet<string> | null;
  readonly payload: WebhookPayload;
  readonly order: WebhookOrder;
  readonly concurrency: number;
  readonly rate: number | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The signing keys, newest first. */
  readonly keys: readonly { readonly key: Buffer; readonly expiresAt: number | null }[];
  readonly revision: number;
  readonly shard: number;
  readonly cursor: number;
  /** The settled positions after the cursor, as a multirange of PostgreSQL. */
  readonly ahead: string;
  readonly health: Health;
  readonly isFailingTold: boolean;
  readonly nextRetryAt: number | null;
};

/** Decrypts the headers and secrets of a webhook. Throws if this process does not have the key. */
export function toDefinition(webhook: DeliveredWebhook, secrets: readonly SigningSecret[], vault: Vault): Definition {
  const { webhookId, types, deliveryOrder: order, probeTries: probes, ...rest } = webhook;
  const { status, failures, failingSince, lastFailureAt, lastSuccessAt, nextProbeAt } = webhook;
  return {
    ...rest,
    webhookId,
    order,
    types: types === null ? null : new Set(types),
    headers: openHeaders(vault, webhook),
    keys: secrets
      .filter((secret) => secret.webhookId === webhookId)
      .map(({ sealed, expiresAt }) => ({ key: readSigningKey(vault.open(sealed, webhookId)), expiresAt })),
    health: { status, failures, failingSince, lastFailureAt, lastSuccessAt, probes, nextProbeAt },
  };
}

export type Item = {
  readonly kind: AttemptKind;
  /** Inner UUID. */
  readonly eventId: string;
  readonly eventType: string;
  /** The position, or the number for a webhook of operators. Null for a test. */
  readonly position: number | null;
  readonly body: string;
  readonly traceparent: string | null;
  /** The number of attempts before this one. */
  readonly tries: number;
  /** The due time in milliseconds since 1970. Null if the item has none. */
  readonly dueAt: number | null;
  /** The item's place in the cursor of the webhook or the replay. Null if it was read from its row, such as a retry. */
  readonly place: Place | null;
  readonly replay: { sent: number } | null;
};

export function fromEvent(
  found: FeedEvent,
  payload: WebhookPayload,
): Pick<Item, 'eventId' | 'eventType' | 'position' | 'body' | 'traceparent'> {
  const { eventId, type, traceparent } = found.event;
  return { eventId, eventType: type, position: found.place, body: found.text(payload), traceparent };
}
