import type { WebhookPayload } from '../../../../domain/webhooks/webhook.ts';
import { Turns } from '../../../calls/turns.ts';
import { databaseTime } from '../../../foundation/database-clock.ts';
import type { Database } from '../../../store/connection/database.ts';
import { readOldestRetry, readRetries, type StoredDelivery, toDeliveries } from '../../../store/webhooks/delivery.ts';
import { fromEvent, type Item } from './definition.ts';
import type { EventFeed, FeedEvent } from './event-feed.ts';

/** Maximum number of retries of one webhook that are read at once. */
const COUNT = 50;

/**
 * Retries are read for one webhook at a time. So a connection is left for events, even if many webhooks fail. Each webhook waits
 * for only one turn at a time, so the number of webhooks limits the queue.
 */
const readers = new Turns({ atOnce: 1, waitingOfOne: 1, waitingOfAll: Number.POSITIVE_INFINITY });

export type RetrySource = {
  readonly webhookId: string;
  readonly database: Database;
  readonly feed: EventFeed;
  readonly payload: () => WebhookPayload;
  readonly onMore: () => void;
  readonly onFailure: (error: unknown) => void;
  readonly forget: (row: StoredDelivery) => void;
  readonly stored: () => Promise<void>;
};

/** The failed events of a webhook, which are sent again when they are due. */
export class Retries {
  readonly #source: RetrySource;
  /** The due time of the first retry that is not in memory. */
  #nextAt: number;
  /** The due time of the first retry that was stored since the last read began. That read may have missed it. */
  #notedAt = Number.POSITIVE_INFINITY;
  #waiting: Item[] = [];
  /** The due times of the rows whose events are waiting here or in flight, by event. */
  readonly #known = new Map<string, number | null>();
  readonly #done = new DoneRows();
  #oldest: Item | null | undefined;
  #isReading = false;

  constructor(nextAt: number | null, source: RetrySource) {
    this.#source = source;
    this.#nextAt = nextAt ?? Number.POSITIVE_INFINITY;
  }

  reset(): void {
    this.#nextAt = Number.NEGATIVE_INFINITY;
    for (const { eventId } of this.#waiting) this.#known.delete(eventId);
    this.#waiting = [];
    this.#oldest = undefined;
  }

  /** Notes that a retry was stored. `nextAt` is its due time in milliseconds since 1970. */
  note(nextAt: number): void {
    this.#nextAt = Math.min(this.#nextAt, nextAt);
    this.#notedAt = Math.min(this.#notedAt, nextAt);
  }

  /** Called when the outcome of a retry is stored. A failed probe leaves the row unchanged, so its event is sent again. */
  forget({ eventId, dueAt: probeDueAt }: Item, hasChangedRow: boolean): void {
    const dueAt = this.#known.get(eventId) ?? probeDueAt;
    if (hasChangedRow) this.#done.add(eventId, dueAt);
    else this.note(dueAt ?? databaseTime());
    this.#known.delete(eventId);
    this.#oldest = undefined;
  }

  giveBack(item: Item): void {
    this.#waiting.unshift(item);
  }

  get isDue(): boolean {
    return this.#waiting.length > 0 || this.#nextAt <= databaseTime();
  }

  take(): Item | undefined {
    const item = this.#waiting.shift();
    if (item === undefined && this.#nextAt <= databaseTime()) void this.#run(() => this.#readDue());
    return item;
  }

  /** Returns the oldest retry, even if it is not due. Returns null if there is none, and `unknown` while it is being read. */
  takeOldest(): Item | null | 'unknown' {
    if (this.#oldest === undefined) {
      void this.#run(() => this.#readOldest());
      return 'unknown';
    }
    const oldest = this.#oldest;
    this.#oldest = undefined;
    if (oldest === null) return null;
    // The oldest retry may already have been waiting here when the webhook was paused.
    this.#waiting = this.#waiting.filter(({ eventId }) => eventId !== oldest.eventId);
    this.#known.set(oldest.eventId, oldest.dueAt);
    return oldest;
  }

  async #run(read: () => Promise<void>): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      await readers.take({ programId: this.#source.webhookId, deadline: Number.POSITIVE_INFINITY }, read);
    } catch (error) {
      return this.#source.onFailure(error);
    } finally {
      this.#isReading = false;
    }
    this.#source.onMore();
  }

  async #readDue(): Promise<void> {
    const { database, webhookId } = this.#source;
    const webhookIds = [webhookId];
    this.#notedAt = Number.POSITIVE_INFINITY;
    const rows = toDeliveries(await database.read(readRetries({ webhookIds, count: COUNT })));
    const now = databaseTime();
    const due = rows.filter(({ nextAt }) => (nextAt ?? 0) <= now);
    const later = rows.find(({ nextAt }) => (nextAt ?? 0) > now);
    const isAll = due.length < COUNT;
    this.#nextAt = isAll ? Math.min(later?.nextAt ?? Number.POSITIVE_INFINITY, this.#notedAt) : now;
    const fresh = due.filter((row) => !this.#known.has(row.eventId) && !this.#done.has(row.eventId, row.nextAt));
    // All rows that were read are already waiting here or in flight. The next read waits a second, so that their outcomes can be
    // stored.
    if (!isAll && fresh.length === 0) this.#nextAt = now + 1000;
    const found = await this.#readEvents(fresh);
    for (const row of fresh) {
      const item = this.#toItem(row, 'retry', found.get(row.eventId));
      if (item === null) continue;
      this.#known.set(row.eventId, row.nextAt);
      this.#waiting.push(item);
    }
  }

  async #readEvents(rows: readonly StoredDelivery[]): Promise<ReadonlyMap<string, FeedEvent>> {
    try {
      return await this.#source.feed.readSome(rows.map(({ eventId }) => eventId));
    } catch (error) {
      // The read failed, so the retries are still due.
      this.#nextAt = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }

  async #readOldest(): Promise<void> {
    const { database, webhookId } = this.#source;
    const [row] = toDeliveries(await database.read(readOldestRetry({ webhookId })));
    const item = row && this.#toItem(row, 'probe', await this.#source.feed.readOne(row.eventId));
    // The row of a deleted event must be deleted before the next turn can find the next row.
    if (item === null) await this.#source.stored();
    else this.#oldest = item ?? null;
  }

  /** Returns the item for a row. If its event no longer exists, deletes the row and returns null. */
  #toItem(row: StoredDelivery, kind: 'retry' | 'probe', found: FeedEvent | undefined): Item | null {
    const { payload, forget } = this.#source;
    if (found === undefined) {
      forget(row);
      return null;
    }
    const { tries, nextAt: dueAt } = row;
    const from = fromEvent(found, payload());
    return { ...from, kind, tries, dueAt, place: null, replay: null };
  }
}

/** More than the number of rows that can be stored during one statement. */
const MAX_ROWS = 2_000;

/**
 * Rows whose outcome was just stored. A read that began earlier may still return their old state. Such rows must not be sent
 * again.
 */
export class DoneRows {
  readonly #dueAt = new Map<string, number | null>();

  add(key: string, dueAt: number | null): void {
    if (this.#dueAt.size >= MAX_ROWS) this.#dueAt.clear();
    this.#dueAt.set(key, dueAt);
  }

  /** Returns whether the row was read in an outdated state: with the due time from before its outcome was stored. */
  has(key: string, dueAt: number | null): boolean {
    return dueAt !== null && this.#dueAt.get(key) === dueAt;
  }
}
