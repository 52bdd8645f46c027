import { setMaxListeners } from 'node:events';
import { type Health, mergeHealth, withLastSuccess } from '../../../../domain/webhooks/health.ts';
import { FIRST_WINDOW, type WebhookPayload } from '../../../../domain/webhooks/webhook.ts';
import { databaseTime } from '../../../foundation/database-clock.ts';
import type { Database } from '../../../store/connection/database.ts';
import { readDeadDeliveries, type StoredDelivery, toDeliveries } from '../../../store/webhooks/delivery.ts';
import type { RunningReplay } from '../../../store/webhooks/replay.ts';
import type { HeldShard } from '../../../store/webhooks/shard.ts';
import { type Definition, fromEvent, type Item } from './definition.ts';
import { type CursorReports, EventCursor } from './event-cursor.ts';
import type { EventFeed, FeedEvent } from './event-feed.ts';
import { Places, RateLimit } from './places.ts';
import { DoneRows, Retries } from './retries.ts';

// Invariant: A crash repeats at most the requests in flight: at most the `concurrency` of a webhook, or one in strict order
// Kept by: a slot of the window becomes free only when the outcome is stored
// Tested by: `test/delivery/stored-first.test.ts`, `test/delivery/processes.test.ts`, `verification/campaigns/webhooks.ts`

/** Everything that the webhooks of a process share. */
export type DeliveryContext = {
  readonly database: Database;
  readonly queue: (endpoint: Endpoint) => void;
  /** Stores the cursors of a webhook. */
  readonly touch: (endpoint: Endpoint) => void;
  /** Deletes a row if its event no longer exists. */
  readonly forgetDelivery: (endpoint: Endpoint, row: StoredDelivery) => void;
  readonly stored: () => Promise<void>;
  /** Called when a read fails. With the next poll, the webhooks that were waiting for the read get a new turn. */
  readonly onFailure: (error: unknown) => void;
  /** Called when events before the place `oldest` were deleted without having been sent. */
  readonly onDeleted: (endpoint: Endpoint, oldest: number) => void;
};

/** A webhook that this process delivers to. It decides which events to send next, and how many at once. */
export class Endpoint {
  definition: Definition;
  readonly held: HeldShard;
  readonly feed: EventFeed;
  health: Health;
  /** How many requests may be in flight. After failures, this is less than the webhook allows. */
  window = FIRST_WINDOW;
  /** Whether the last answer took a long time, or a request in flight is taking a long time. */
  isSlow = false;
  /** The number of requests whose outcome is not stored. A crash of this process repeats them. */
  inFlight = 0;
  isQueued = false;
  /** Whether only tests and resends are sent, because the webhook is being disabled. */
  isHalted = false;
  /** Whether nothing more is sent, because the shard is about to be released. */
  isDraining = false;
  /** Whether this process no longer delivers to this webhook. Outcomes are then not stored. */
  isDropped = false;
  isFailingTold: boolean;
  storedHealth: Health;
  storedCursor: number;
  replay: ReplayRun | null = null;
  readonly cursor: EventCursor;
  readonly retries: Retries;
  readonly #context: DeliveryContext;
  readonly #aborting = new AbortController();
  readonly #rate = new RateLimit();
  /** Tests and resends that wait or are in flight. */
  readonly #requested = new Set<string>();
  readonly #requestedWaiting: Item[] = [];
  readonly #requestedDone = new DoneRows();
  /**
   * Events without a row that were sent but not delivered. They are sent again before any other event, except tests and resends.
   */
  #again: Item[] = [];
  #isReplayNext = false;
  #rateTimer: NodeJS.Timeout | undefined;
  readonly #stopListening: () => void;

  constructor(definition: Definition, held: HeldShard, feed: EventFeed, context: DeliveryContext) {
    this.definition = definition;
    this.held = held;
    this.feed = feed;
    this.health = withLastSuccess(definition.health);
    this.storedHealth = definition.health;
    this.storedCursor = definition.cursor;
    this.isFailingTold = definition.isFailingTold && this.health.failures > 0;
    this.#context = context;
    setMaxListeners(0, this.#aborting.signal);
    const places = new Places(definition.cursor, definition.ahead);
    this.cursor = new EventCursor(feed, places, (event) => this.#wants(event), this.#reports());
    this.retries = new Retries(definition.nextRetryAt, {
      webhookId: definition.webhookId,
      database: context.database,
      feed,
      payload: () => this.definition.payload,
      onMore: () => this.wake(),
      onFailure: context.onFailure,
      forget: (row) => context.forgetDelivery(this, row),
      stored: context.stored,
    });
    this.#stopListening = feed.listen(() => this.wake());
  }

  get webhookId(): string {
    return this.definition.webhookId;
  }
  get signal(): AbortSignal {
    return this.#aborting.signal;
  }
  get isStrict(): boolean {
    return this.definition.order === 'strict';
  }

  /** Whether the cursor or the health differs from the stored one. */
  get hasMoved(): boolean {
    return this.cursor.places.passed !== this.storedCursor || this.health !== this.storedHealth;
  }

  wake(): void {
    if (!this.isDropped) this.#context.queue(this);
  }

  /**
   * Applies a change that a request made. Events in memory are read again, because personal data in them may have been
   * erased.
   */
  update(definition: Definition): void {
    this.definition = definition;
    this.health = mergeHealth(definition.health, this.health);
    this.storedHealth = definition.health;
    this.isFailingTold = definition.isFailingTold && this.health.failures > 0;
    this.isHalted = false;
    this.retries.reset();
    this.feed.forget();
    this.cursor.forget();
    this.replay?.forget();
    void this.#readAgain();
    // The poll that has read the change also reads these rows again.
    for (const item of this.#requestedWaiting.splice(0)) this.forgetRequested(item);
    if (definition.cursor > this.cursor.places.passed) {
      // A request has moved the cursor, so events before the new cursor are not sent.
      this.#again = this.#again.filter(({ replay }) => replay !== null);
      this.cursor.skipTo(definition.cursor);
    }
    this.storedCursor = definition.cursor;
    this.wake();
  }

  drop(): void {
    this.isDropped = true;
    this.#stopListening();
    clearTimeout(this.#rateTimer);
    this.#aborting.abort();
  }

  /** Notes a requested test or resend. Returns false if it is already waiting or in flight, or was just done. */
  noteRequested({ kind, eventId, nextAt }: StoredDelivery): boolean {
    const key = `${kind} ${eventId}`;
    if (this.#requested.has(key) || this.#requestedDone.has(key, nextAt)) return false;
    this.#requested.add(key);
    return true;
  }

  get requestedCount(): number {
    return this.#requested.size;
  }

  queueRequested(item: Item): void {
    this.#requestedWaiting.push(item);
    this.wake();
  }

  forgetRequested({ kind, eventId }: Pick<StoredDelivery, 'eventId'> & { readonly kind: string }): void {
    this.#requested.delete(`${kind} ${eventId}`);
  }

  /** Makes the next probe due, because the paused webhook has accepted a test or a resend. */
  probeSoon(): void {
    if (this.health.nextProbeAt !== null) this.health = { ...this.health, nextProbeAt: databaseTime() };
  }

  setReplay(stored: RunningReplay | undefined): void {
    if (stored?.replayId === this.replay?.replayId) return;
    // Events of a canceled replay are not sent again.
    this.#again = this.#again.filter(({ replay }) => replay === null);
    if (stored === undefined) {
      this.replay = null;
      return;
    }
    const { database } = this.#context;
    this.replay = new ReplayRun(stored, {
      database,
      feed: this.feed,
      payload: () => this.definition.payload,
      wants: (event) => this.#wants(event),
      reports: this.#reports(),
    });
    this.wake();
  }

  take(): Item | undefined {
    if (this.isDropped || this.isDraining) return undefined;
    const { concurrency } = this.definition;
    if (this.inFlight >= (this.isStrict ? 1 : Math.min(this.window, concurrency))) return undefined;
    const waitMilliseconds = this.#rate.waitFor(this.definition.rate);
    if (waitMilliseconds > 0) {
      this.#rateTimer ??= setTimeout(() => {
        this.#rateTimer = undefined;
        this.wake();
      }, waitMilliseconds);
      return undefined;
    }
    const item = this.#requestedWaiting.shift() ?? (this.isHalted ? undefined : this.#next());
    if (item === undefined) return undefined;
    this.#rate.use(this.definition.rate);
    this.inFlight += 1;
    return item;
  }

  /**
   * Puts back an event that was not delivered and has no row. It is sent next. `isOld` means that the webhook was read again in the
   * meantime, so the event must be read again as well.
   */
  putBack(item: Item, isOld = false): void {
    if (item.replay !== null && item.replay !== this.replay) return;
    this.#again.push(item);
    this.#again.sort((left, right) => (left.position ?? 0) - (right.position ?? 0));
    if (isOld) void this.#readAgain();
  }

  async #readAgain(): Promise<void> {
    for (const item of [...this.#again]) {
      try {
        const found = await this.feed.readOne(item.eventId);
        const at = this.#again.indexOf(item);
        if (found !== undefined && at !== -1) {
          this.#again[at] = { ...item, ...fromEvent(found, this.definition.payload) };
        }
      } catch (error) {
        this.#context.onFailure(error);
      }
    }
  }

  giveBack(item: Item): void {
    this.inFlight -= 1;
    if (this.isDropped) return;
    if (item.kind === 'resend' || item.kind === 'test') this.forgetRequested(item);
    else if (item.place === null) this.retries.giveBack(item);
    else this.putBack({ ...item, tries: item.tries - 1 });
    this.wake();
  }

  /**
   * Called when an outcome is stored. `retryAt` is the time when the event is sent again. `hasChangedRow` is false if the event's
   * row is unchanged.
   */
  release(item: Item, retryAt: number | null, hasChangedRow: boolean): void {
    this.inFlight -= 1;
    if (retryAt !== null) this.retries.note(retryAt);
    if (item.kind === 'resend' || item.kind === 'test') {
      this.#requestedDone.add(`${item.kind} ${item.eventId}`, item.dueAt);
      this.forgetRequested(item);
    } else if (item.place === null) this.retries.forget(item, hasChangedRow);
    this.wake();
  }

  /** Whether events are sent one at a time, each at the time of the next probe. */
  get isHeldBack(): boolean {
    const { status, nextProbeAt } = this.health;
    return status === 'paused' || (this.isStrict && nextProbeAt !== null);
  }

  #next(): Item | undefined {
    const { status, nextProbeAt } = this.health;
    if (status === 'disabled') return undefined;
    if (this.isHeldBack) {
      const isDue = this.inFlight === 0 && (nextProbeAt === null || nextProbeAt <= databaseTime());
      return isDue ? this.#takeProbe(nextProbeAt) : undefined;
    }
    const again = this.#again.shift();
    if (again !== undefined) return { ...again, kind: 'retry', tries: again.tries + 1 };
    const first = this.retries.take();
    if (first !== undefined) return first;
    this.#isReplayNext = !this.#isReplayNext;
    if (this.#isReplayNext) return this.#takeReplay() ?? this.#takeEvent();
    return this.#takeEvent() ?? this.#takeReplay();
  }

  /** Returns the oldest event. That is an event that failed before or, if there is none, the next one. */
  #takeProbe(dueAt: number | null): Item | undefined {
    const again = this.#again.shift();
    const kind = this.health.status === 'paused' ? 'probe' : 'retry';
    if (again !== undefined) return { ...again, kind, dueAt, tries: again.tries + 1 };
    const oldest = this.retries.takeOldest();
    if (oldest === 'unknown') return undefined;
    const item = oldest ?? this.#takeEvent() ?? this.#takeReplay();
    return item && { ...item, kind, dueAt };
  }

  #takeEvent(): Item | undefined {
    const taken = this.cursor.take();
    if (taken === undefined) return undefined;
    const from = fromEvent(taken.found, this.definition.payload);
    return { ...from, kind: 'event', tries: 0, dueAt: null, place: taken.place, replay: null };
  }

  #takeReplay(): Item | undefined {
    const { replay } = this;
    const item = replay?.take();
    if (item === undefined && replay?.isComplete) this.#context.touch(this);
    return item;
  }

  #wants({ event: { type } }: FeedEvent): boolean {
    const { types } = this.definition;
    return types === null || types.has(type) || types.has(`${type.split('.', 1)[0]}.*`);
  }

  #reports() {
    return {
      onMore: () => this.wake(),
      onFailure: (error: unknown) => this.#context.onFailure(error),
      onDeleted: (oldest: number) => this.#context.onDeleted(this, oldest),
    };
  }
}

/** Maximum number of dead events that are read at once. */
const COUNT = 50;

type ReplaySource = {
  readonly database: Database;
  readonly feed: EventFeed;
  readonly payload: () => WebhookPayload;
  readonly wants: (event: FeedEvent) => boolean;
  readonly reports: CursorReports;
};

/** A replay in progress: a second cursor of a webhook. */
class ReplayRun {
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
