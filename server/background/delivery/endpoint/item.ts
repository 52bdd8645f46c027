import type { AttemptKind, WebhookPayload } from '../../../../domain/webhooks/webhook.ts';
import type { FeedEvent } from './event-feed.ts';
import type { Place } from './places.ts';

/** Something to send to a webhook. */
export type Item = {
  readonly kind: AttemptKind;
  /** Inner UUID. */
  readonly eventId: string;
  readonly eventType: string;
  /** Position, or number for a webhook of operators; null for a test. */
  readonly position: number | null;
  readonly body: string;
  /** The trace of the request that caused the event; null without one. */
  readonly traceparent: string | null;
  /** Attempts before this one. */
  readonly tries: number;
  /** When it was due, in milliseconds since 1970; null for what has no due time. */
  readonly dueAt: number | null;
  /** Its place in the cursor of the webhook or of the replay; null if it was read from its own row, such as a retry. */
  readonly place: Place | null;
  /** The replay that counts it; null for others. */
  readonly replay: { sent: number } | null;
};

/** The parts of an item that follow from its event. */
export function fromEvent(
  found: FeedEvent,
  payload: WebhookPayload,
): Pick<Item, 'eventId' | 'eventType' | 'position' | 'body' | 'traceparent'> {
  const { eventId, type, traceparent } = found.event;
  return { eventId, eventType: type, position: found.place, body: found.text(payload), traceparent };
}
