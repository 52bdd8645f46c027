import type { AttemptKind, WebhookPayload } from '../../../../domain/webhooks/webhook.ts';
import type { FeedEvent } from './event-feed.ts';
import type { Place } from './places.ts';

/** An event or test to send to a webhook. */
export type Item = {
  readonly kind: AttemptKind;
  /** Inner UUID. */
  readonly eventId: string;
  readonly eventType: string;
  /** Position, or number for a webhook of operators. Null for a test. */
  readonly position: number | null;
  readonly body: string;
  /** The trace of the request that caused the event, or null without one. */
  readonly traceparent: string | null;
  /** Attempts before this one. */
  readonly tries: number;
  /** The due time, in milliseconds since 1970, or null if the item has none. */
  readonly dueAt: number | null;
  /**
   * Its place in the cursor of the webhook or of the replay. Null if it was read from its own row, for example for a retry.
   */
  readonly place: Place | null;
  /** The replay that counts it, if any. */
  readonly replay: { sent: number } | null;
};

/** Returns the parts of an item that its event determines. */
export function fromEvent(
  found: FeedEvent,
  payload: WebhookPayload,
): Pick<Item, 'eventId' | 'eventType' | 'position' | 'body' | 'traceparent'> {
  const { eventId, type, traceparent } = found.event;
  return { eventId, eventType: type, position: found.place, body: found.text(payload), traceparent };
}
