import { EVERY_PROGRAM } from '../../../domain/event.ts';
import type { Service } from '../../calls/service.ts';
import type { Database } from '../../store/connection/database.ts';
import { readHeads, toHeads } from '../../store/events/event-positions.ts';

// Invariant: Whoever waits for events holds no database connection, and is neither load nor late
// Kept by: this file, `server/http/admission/watchers.ts`
// Tested by: `test/http/waits.test.ts`, `test/api/events/waits.test.ts`

/** Events of every program and of the service itself: its head is the last number. */
export const ALL_EVENTS = EVERY_PROGRAM;

/** Pause between two looks, while somebody waits: how late an event is that another process has numbered. */
const POLL_MILLISECONDS = 100;

/** The pause after a look that failed. */
const RETRY_MILLISECONDS = 1_000;

/** Somebody who waits for an event after a position. */
type Waiter = { readonly programId: string; readonly position: number; readonly wake: () => void };

/**
 * Wakes those who wait for events. All of a process share one look at the last positions, at intervals and when somebody
 * begins to wait, so that nothing that came before is missed. They hold no database connection.
 */
export class EventNews {
  readonly #database: Database;
  readonly #waiters = new Set<Waiter>();
  #isLooking = false;
  #lookAgain = false;
  #timer: NodeJS.Timeout | undefined;

  /** `database` must see all programs. */
  constructor(database: Database) {
    this.#database = database;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Resolves when the program, or {@link ALL_EVENTS}, has an event after the position (or number), after `milliseconds`, or
   * when `signal` aborts.
   */
  wait(programId: string, position: number, milliseconds: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || milliseconds <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#waiters.delete(waiter);
        resolve();
      };
      const waiter: Waiter = { programId, position, wake: end };
      const timer = setTimeout(end, milliseconds);
      signal.addEventListener('abort', end);
      this.#waiters.add(waiter);
      void this.#look();
    });
  }

  /** Wakes those who wait for these programs: the relay of this process has just numbered events of theirs. */
  tell(programIds: readonly string[]): void {
    if (this.#waiters.size === 0 || programIds.length === 0) return;
    const changed = new Set([...programIds, ALL_EVENTS]);
    for (const { programId, wake } of [...this.#waiters]) if (changed.has(programId)) wake();
  }

  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    this.#lookAgain = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    let pauseMilliseconds = POLL_MILLISECONDS;
    try {
      while (this.#lookAgain && this.#waiters.size > 0) {
        this.#lookAgain = false;
        await this.#lookOnce();
      }
    } catch {
      // Whoever reads next has the failure in its response.
      pauseMilliseconds = RETRY_MILLISECONDS;
    }
    this.#isLooking = false;
    if (this.#waiters.size > 0) this.#timer = setTimeout(() => void this.#look(), pauseMilliseconds).unref();
  }

  async #lookOnce(): Promise<void> {
    const programIds = [...new Set([...this.#waiters].map(({ programId }) => programId))];
    const heads = toHeads(await this.#database.read(readHeads({ programIds })));
    for (const { programId, position, wake } of [...this.#waiters]) {
      if ((heads.get(programId) ?? 0) > position) wake();
    }
  }
}

/** What handlers of events work with. */
export type EventService = Service & { readonly news: EventNews };
