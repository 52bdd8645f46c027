import { performance } from 'node:perf_hooks';
import { confirmReplicated } from '../../../calls/read-rows.ts';
import { writeBody } from '../../../calls/records/event.ts';
import type { Database } from '../../../store/connection/database.ts';
import { QUERY_CANCELED, StoreFailure } from '../../../store/connection/failure.ts';
import {
  type DeletedEvents,
  type EventPage,
  findEvent,
  findEvents,
  readEventPage,
  readEventPages,
  type StoredEvent,
} from '../../../store/events/read-events.ts';
import type { Webhook } from '../../../store/webhooks/webhook.ts';
import { ALL_EVENTS } from '../../../subjects/events/event-news.ts';

/** Time limit for a standby to confirm the events that were read, if commits wait for a standby. */
const PROOF_MILLISECONDS = 3_000;

/** A page that no webhook has used for this long is removed from memory. */
const MAX_UNUSED_MILLISECONDS = 5_000;

/** Maximum number of pages that a feed keeps. Webhooks that are further behind read pages again. */
const MAX_PAGES = 16;

/** An event with its bodies, ready to send. Each body is serialized only once, for all webhooks. */
export class FeedEvent {
  readonly event: StoredEvent;
  /** The event's position. For webhooks of operators, its number. */
  readonly place: number;
  readonly #isForOperators: boolean;
  readonly #texts: Partial<Record<Webhook['payload'], string>> = {};

  constructor(event: StoredEvent, isOperator: boolean) {
    this.event = event;
    this.place = isOperator ? event.number : event.position;
    this.#isForOperators = isOperator;
  }

  text(payload: Webhook['payload']): string {
    this.#texts[payload] ??= writeBody(this.event, payload, this.#isForOperators);
    return this.#texts[payload];
  }
}

export type FeedPage = {
  /** The page contains the events after this place, up to `end`. It is empty if both are equal. */
  readonly after: number;
  readonly end: number;
  readonly events: readonly FeedEvent[];
};

/** Returned instead of a page if the events before the place `oldest` are deleted. */
export type DeletedPage = { readonly oldest: number };

type KeptPage = FeedPage & { usedAt: number };

/** The events of a card program, or of all programs and the service itself. They are read once for all webhooks. */
export class EventFeed {
  readonly programId: string | null;
  readonly #database: Database;
  readonly #reader: FeedReader;
  readonly #listeners = new Set<() => void>();
  readonly #reading = new Map<number, { readonly version: number; readonly page: Promise<FeedPage | DeletedPage> }>();
  #pages: KeptPage[] = [];
  #end = 0;
  #version = 0;
  /** When the version was `version`, there were no events after the place `end`. */
  #known = { end: -1, version: -1 };

  constructor(database: Database, programId: string | null, reader: FeedReader) {
    this.#database = database;
    this.#reader = reader;
    this.programId = programId;
  }

  /** The id of the row that stores the last place of this feed. */
  get headId(): string {
    return this.programId ?? ALL_EVENTS;
  }

  /** A number that is raised when there may be new events. */
  get version(): number {
    return this.#version;
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get isUsed(): boolean {
    return this.#listeners.size > 0;
  }

  noteNews(): void {
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }

  noteHead(head: number): void {
    if (head > this.#end) this.noteNews();
  }

  isEnd(place: number): boolean {
    return this.#known.version === this.#version && place >= this.#known.end;
  }

  find(place: number): FeedPage | undefined {
    const page = this.#pages.find(({ after, end }) => after <= place && place < end);
    if (page !== undefined) page.usedAt = performance.now();
    return page;
  }

  /** Reads the events after a place. Rethrows database errors. */
  async read(place: number): Promise<FeedPage | DeletedPage> {
    const found = this.find(place);
    if (found !== undefined) return found;
    const running = this.#reading.get(place);
    if (running?.version === this.#version) return running.page;
    const page = this.#readPage(place);
    this.#reading.set(place, { version: this.#version, page });
    try {
      return await page;
    } finally {
      if (this.#reading.get(place)?.page === page) this.#reading.delete(place);
    }
  }

  async #readPage(after: number): Promise<FeedPage | DeletedPage> {
    const { programId } = this;
    const version = this.#version;
    const read = await this.#reader.read(programId, after);
    if ('oldest' in read) return read;
    await confirmReplicated(this.#database, performance.now() + PROOF_MILLISECONDS, read.places);
    const events = read.events.map((event) => new FeedEvent(event, programId === null));
    const page: KeptPage = { after, end: read.end, events, usedAt: performance.now() };
    // Even an empty page shows that the last place of the feed is at least the end of the page.
    this.#end = Math.max(this.#end, page.end);
    if (page.end > after) this.#keep(page);
    // Events that appeared during the read may be missing.
    if (!read.isFull && version === this.#version) this.#known = { end: read.end, version };
    return page;
  }

  #keep(page: KeptPage): void {
    this.#pages.push(page);
    if (this.#pages.length <= MAX_PAGES) return;
    const oldest = Math.min(...this.#pages.map(({ usedAt }) => usedAt));
    this.#pages.splice(
      this.#pages.findIndex(({ usedAt }) => usedAt === oldest),
      1,
    );
  }

  async readOne(eventId: string): Promise<FeedEvent | undefined> {
    const event = await findEvent(this.#database, eventId, this.programId ?? undefined);
    return event && new FeedEvent(event, this.programId === null);
  }

  async readSome(eventIds: readonly string[]): Promise<ReadonlyMap<string, FeedEvent>> {
    const events = await findEvents(this.#database, eventIds, this.programId ?? undefined);
    return new Map([...events].map(([eventId, event]) => [eventId, new FeedEvent(event, this.programId === null)]));
  }

  forget(): void {
    this.#pages = [];
  }

  tidy(): void {
    const now = performance.now();
    this.#pages = this.#pages.filter(({ usedAt }) => now - usedAt < MAX_UNUSED_MILLISECONDS);
  }
}

const PAGE_EVENTS = 200;

const MAX_FEEDS = 64;

type Wanted = {
  readonly programId: string;
  readonly after: number;
  readonly resolve: (page: EventPage | DeletedEvents) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Reads the events of feeds. While a read is in progress, further reads for card programs are collected and combined. So a thousand
 * programs with one event each take no more queries than one program with a thousand events.
 */
export class FeedReader {
  readonly #database: Database;
  #wanted: Wanted[] = [];
  #isReading = false;
  /** How many feeds are read at once. After a timeout, fewer are read, because all of them may have a backlog of large events. */
  #feeds = MAX_FEEDS;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Reads a page after a place. `programId` is null for the events of all programs. Rethrows database errors. */
  read(programId: string | null, after: number): Promise<EventPage | DeletedEvents> {
    if (programId === null) return readEventPage(this.#database, { after, limit: PAGE_EVENTS });
    return new Promise((resolve, reject) => {
      this.#wanted.push({ programId, after, resolve, reject });
      if (this.#isReading) return;
      this.#isReading = true;
      // Combines other reads that are requested in this turn of the event loop.
      setImmediate(() => void this.#readAll());
    });
  }

  async #readAll(): Promise<void> {
    while (this.#wanted.length > 0) {
      const wanted = this.#wanted.splice(0, this.#feeds);
      try {
        const ranges = wanted.map(({ programId, after }) => ({ programId, after }));
        const pages = await readEventPages(this.#database, ranges, PAGE_EVENTS);
        for (const [index, { resolve, reject }] of wanted.entries()) {
          const page = pages[index];
          if (page === undefined || page instanceof Error) reject(page);
          else resolve(page);
        }
        this.#feeds = Math.min(MAX_FEEDS, this.#feeds * 2);
      } catch (error) {
        const isTooMuch = error instanceof StoreFailure && (error.sqlState === QUERY_CANCELED || error.timedOut);
        if (isTooMuch) this.#feeds = Math.ceil(this.#feeds / 4);
        for (const { reject } of wanted) reject(error);
      }
    }
    this.#isReading = false;
  }
}
