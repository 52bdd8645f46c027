import type { EventFeed, FeedEvent, FeedPage } from './event-feed.ts';
import type { Place, Places } from './places.ts';

export type Taken = { readonly found: FeedEvent; readonly place: Place };

export type CursorReports = {
  readonly onMore: () => void;
  /** Called when events were deleted before they were sent. The cursor continues with the event at place `oldest`. */
  readonly onDeleted: (oldest: number) => void;
  /** Called when a read failed. The next call of {@link EventCursor.take} tries again. */
  readonly onFailure: (error: unknown) => void;
};

/** Reads each event of a feed once, in order. */
export class EventCursor {
  readonly places: Places;
  readonly #feed: EventFeed;
  readonly #wants: (event: FeedEvent) => boolean;
  readonly #reports: CursorReports;
  #page: FeedPage | undefined;
  #next = 0;
  #isReading = false;

  constructor(feed: EventFeed, places: Places, wants: (event: FeedEvent) => boolean, reports: CursorReports) {
    this.#feed = feed;
    this.places = places;
    this.#wants = wants;
    this.#reports = reports;
  }

  /** Returns the next event that matches the filter. If there is none yet, reads more events and returns undefined. */
  take(): Taken | undefined {
    for (;;) {
      this.#page ??= this.#open();
      if (this.#page === undefined) break;
      const { events, end } = this.#page;
      while (this.#next < events.length) {
        const found = events[this.#next] as FeedEvent;
        this.#next += 1;
        if (this.places.isSettled(found.place)) this.places.add(found.place).isDone = true;
        else if (this.#wants(found)) return { found, place: this.places.add(found.place) };
        else this.places.readTo = found.place;
      }
      this.places.readTo = end;
      this.#page = undefined;
    }
    this.#read();
    return undefined;
  }

  /** Removes the events from memory, because they may have been changed. */
  forget(): void {
    this.#page = undefined;
  }

  skipTo(place: number): void {
    this.places.skipTo(place);
    this.#page = undefined;
  }

  #open(): FeedPage | undefined {
    const page = this.#feed.find(this.places.readTo);
    if (page !== undefined) this.#next = firstAfter(page, this.places.readTo);
    return page;
  }

  #read(): void {
    const from = this.places.readTo;
    if (this.#isReading || this.#feed.isEnd(from)) return;
    this.#isReading = true;
    this.#feed.read(from).then(
      (read) => {
        this.#isReading = false;
        // The cursor may have continued in the meantime, with a page that was read for another webhook. It may already have been
        // notified of new events.
        if (this.places.readTo !== from) return this.#reports.onMore();
        if ('oldest' in read) {
          this.skipTo(read.oldest - 1);
          this.#reports.onDeleted(read.oldest);
        } else if (read.end === from) {
          // New events may have appeared since the read.
          if (this.#feed.isEnd(from)) return;
        } else {
          this.#page = read;
          this.#next = firstAfter(read, from);
        }
        this.#reports.onMore();
      },
      (error: unknown) => {
        this.#isReading = false;
        this.#reports.onFailure(error);
      },
    );
  }
}

function firstAfter({ events }: FeedPage, place: number): number {
  const index = events.findIndex((event) => event.place > place);
  return index === -1 ? events.length : index;
}
