import type { Database } from '../../../store/connection/database.ts';
import { QUERY_CANCELED, StoreFailure } from '../../../store/connection/failure.ts';
import {
  type DeletedEvents,
  type EventPage,
  readEventPage,
  readEventPages,
} from '../../../store/events/read-events.ts';

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
