import { EVERY_PROGRAM } from '../../../domain/event.ts';
import type { Service } from '../../calls/call.ts';
import type { Database } from '../../store/connection/database.ts';
import { readHeads, toHeads } from '../../store/events/event-positions.ts';

// Invariant: A request that waits for events holds no database connection, and does not count as load or as a late request
// Kept by: this file, `server/http/admission/watchers.ts`
// Tested by: `test/http/waits.test.ts`, `test/api/events/waits.test.ts`

/** The key for the events of all programs and of the service itself. Its last position is the last event number. */
export const ALL_EVENTS = EVERY_PROGRAM;

/** Interval of the polls while a request waits. An event that another process has numbered is delayed by at most this time. */
const POLL_MILLISECONDS = 100;

/** Pause after a failed poll. */
const RETRY_MILLISECONDS = 1_000;

type Waiter = { readonly programId: string; readonly position: number; readonly wake: () => void };

/**
 * Wakes requests that wait for events. All waiting requests of a process share one poll of the last positions, so they hold no
 * database connections. The poll runs at intervals, and each time a request begins to wait, so that no earlier event is missed.
 */
export class EventNews {
  readonly #database: Database;
  readonly #waiters = new Set<Waiter>();
  #isPolling = false;
  #pollAgain = false;
  #timer: NodeJS.Timeout | undefined;

  /** `database` must have access to all programs. */
  constructor(database: Database) {
    this.#database = database;
  }

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
      void this.#poll();
    });
  }

  /** Wakes the requests that wait for these programs, after this process's relay has numbered their events. */
  announce(programIds: readonly string[]): void {
    if (this.#waiters.size === 0 || programIds.length === 0) return;
    const changed = new Set([...programIds, ALL_EVENTS]);
    for (const { programId, wake } of [...this.#waiters]) if (changed.has(programId)) wake();
  }

  async #poll(): Promise<void> {
    clearTimeout(this.#timer);
    this.#pollAgain = true;
    if (this.#isPolling) return;
    this.#isPolling = true;
    let pauseMilliseconds = POLL_MILLISECONDS;
    try {
      while (this.#pollAgain && this.#waiters.size > 0) {
        this.#pollAgain = false;
        await this.#pollOnce();
      }
    } catch {
      // Not reported here, because the next request that reads events will report it.
      pauseMilliseconds = RETRY_MILLISECONDS;
    }
    this.#isPolling = false;
    if (this.#waiters.size > 0) this.#timer = setTimeout(() => void this.#poll(), pauseMilliseconds).unref();
  }

  async #pollOnce(): Promise<void> {
    const programIds = [...new Set([...this.#waiters].map(({ programId }) => programId))];
    const heads = toHeads(await this.#database.read(readHeads({ programIds })));
    for (const { programId, position, wake } of [...this.#waiters]) {
      if ((heads.get(programId) ?? 0) > position) wake();
    }
  }
}

export type EventService = Service & { readonly news: EventNews };
