import type { AttemptKind, WebhookPayload } from '../../../../domain/webhooks/webhook.ts';
import type { FeedEvent } from './event-feed.ts';
import type { Place } from './places.ts';

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
