import type { EventNews } from '../events/event-news.ts';
import type { Database } from '../store/connection/database.ts';
import type { TransferLane } from '../transfers/load.ts';

/** What handlers work with. */
export type Service = {
  /** With the reach of the operation: the card program of the request, or all of them for operators and jobs. */
  readonly database: Database;
  /** Commits transfers in groups. */
  readonly transfers: TransferLane;
  /** Wakes those who wait for events. */
  readonly news: EventNews;
  /** How customers reach support, for error records inside a success. */
  readonly supportContact: string;
};
