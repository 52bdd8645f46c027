import type { WebhookPayload } from '../../../../domain/webhooks/webhook.ts';
import type { Database } from '../../../store/connection/database.ts';
import { readDeadDeliveries, toDeliveries } from '../../../store/webhooks/delivery.ts';
import type { RunningReplay } from '../../../store/webhooks/replay.ts';
import { type CursorReports, EventCursor } from './event-cursor.ts';
import type { EventFeed, FeedEvent } from './event-feed.ts';
import { fromEvent, type Item } from './item.ts';
import { Places } from './places.ts';

/** Maximum number of dead events that are read at once. */
const COUNT = 50;

export type ReplaySource = {
  readonly database: Database;
  readonly feed: EventFeed;
  readonly payload: () => WebhookPayload;
  readonly wants: (event: FeedEvent) => boolean;
  readonly reports: CursorReports;
};

/** A replay in progress: a second cursor of a webhook. */
export class ReplayRun {
  readonly replayId: string;
  /** The number of events sent so far, with any outcome. */
  sent: number;
  readonly #stored: RunningReplay;
  readonly #source: ReplaySource;
  /** The cursor in the events of the range, or null if only dead events are sent. */
  readonly #cursor: EventCursor | null;
  readonly #places: Places;
  #found: FeedEvent[] = [];
  #isReading = false;

  constructor(stored: RunningReplay, source: ReplaySource) {
    this.#stored = stored;
    this.#source = source;
    this.replayId = stored.replayId;
    this.sent = stored.sent;
    const { cursor, untilPosition } = stored;
    const wants = (event: FeedEvent): boolean =>
      event.place <= untilPosition && this.#isInRange(event) && source.wants(event);
    this.#cursor =
      stored.selection === 'all' ? new EventCursor(source.feed, new Places(cursor), wants, source.reports) : null;
    this.#places = this.#cursor?.places ?? new Places(cursor);
  }

  /** Every event up to this position has been sent or is excluded. */
  get position(): number {
    return Math.min(this.#places.passed, this.#stored.untilPosition);
  }

  get isComplete(): boolean {
    return this.position >= this.#stored.untilPosition;
  }

  forget(): void {
    this.#cursor?.forget();
    this.#found = [];
  }

  take(): Item | undefined {
    if (this.#places.readTo >= this.#stored.untilPosition) return undefined;
    const payload = this.#source.payload();
    const common = { kind: 'replay', tries: 0, dueAt: null, replay: this } as const;
    if (this.#cursor !== null) {
      const taken = this.#cursor.take();
      return taken && { ...common, ...fromEvent(taken.found, payload), place: taken.place };
    }
    const next = this.#found.shift();
    if (next === undefined) {
      void this.#readDead();
      return undefined;
    }
    return { ...common, ...fromEvent(next, payload), place: this.#places.add(next.place) };
  }

  async #readDead(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const { database, feed, reports } = this.#source;
    const { webhookId, untilPosition: until } = this.#stored;
    try {
      const after = this.#places.readTo;
      const rows = toDeliveries(await database.read(readDeadDeliveries({ webhookId, after, until, count: COUNT })));
      const events = await feed.readSome(rows.map(({ eventId }) => eventId));
      for (const row of rows) {
        const event = events.get(row.eventId);
        if (event !== undefined && this.#isInRange(event)) this.#found.push(event);
      }
      // If the replay sends no event of this batch, it continues with the next batch.
      const last = rows.length < COUNT ? until : (rows.at(-1)?.position ?? until);
      if (this.#found.length === 0) this.#places.readTo = last;
    } catch (error) {
      return reports.onFailure(error);
    } finally {
      this.#isReading = false;
    }
    reports.onMore();
  }

  #isInRange({ event: { createdAt } }: FeedEvent): boolean {
    const { fromAt, toAt } = this.#stored;
    return createdAt.getTime() >= fromAt && createdAt.getTime() < toAt;
  }
}
