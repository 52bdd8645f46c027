import type { Database } from '../../store/connection/database.ts';
import type { Databases } from '../../store/connection/databases.ts';
import { QUERY_CANCELED, StoreFailure } from '../../store/connection/failure.ts';
import { HOLD_RELAY, MAX_RELAYED, relayEvents, toRelayed } from '../../store/events/relay.ts';
import type { OnFailure } from './rounds.ts';

/**
 * The pause after every round. It limits a busy service to twenty rounds a second, with one commit each. With a pause of 25 ms,
 * transfers were 7 % slower, and on a saturated machine the slowest reads of events took longer.
 */
const PAUSE_MILLISECONDS = 50;

/** Maximum pause while there is no work, because other processes may have committed. A commit in this process ends the pause. */
const IDLE_MILLISECONDS = 250;

const RETRY_MILLISECONDS = 1_000;

/**
 * How far back a round searches. Transactions take less time than this. If one commits even later, for example because its
 * standby was unreachable, the next search without this limit finds it.
 */
const SEARCH_BACK_SECONDS = 300;

/** Interval of the searches without that limit. */
const FULL_SEARCH_MILLISECONDS = 60_000;

/** If no round has succeeded for this long, lock timeouts count as failures. */
const MAX_WAIT_MILLISECONDS = 10_000;

/** Called with the programs that have new positions. The nil UUID stands for the service itself. */
type Announce = (programIds: readonly string[]) => void;

/** Gives positions to committed events. See server/subjects/events/README.md. All processes do this, but only one at a time. */
export function startRelayingEvents(
  { background, onCommit }: Pick<Databases, 'background' | 'onCommit'>,
  announce: Announce,
  onFailure: OnFailure,
): { readonly stop: () => Promise<void> } {
  const relay = new Relay(background, announce, onFailure);
  let stopped = false;
  let hasCommitted = false;
  let wake = (): void => undefined;
  const rest = (milliseconds: number, untilCommit: boolean): Promise<void> =>
    new Promise((resolve) => {
      if (stopped || (untilCommit && hasCommitted)) return resolve();
      const timer = setTimeout(resolve, milliseconds).unref();
      wake = () => {
        if (!stopped && !untilCommit) return;
        clearTimeout(timer);
        resolve();
      };
    });
  const stopListening = onCommit(() => {
    hasCommitted = true;
    wake();
  });
  const run = async (): Promise<void> => {
    while (!stopped) {
      // The round may miss commits that happen after this point.
      hasCommitted = false;
      const outcome = await relay.round();
      if (outcome === 'failed') await rest(RETRY_MILLISECONDS, false);
      if (outcome === 'some' || outcome === 'none') await rest(PAUSE_MILLISECONDS, false);
      if (outcome === 'none') await rest(IDLE_MILLISECONDS - PAUSE_MILLISECONDS, true);
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopped = true;
      stopListening();
      wake();
      await running;
    },
  };
}

/**
 * The result of a round. `none`: it found no events. `some`: it numbered all events. `more`: it found as many as it takes at once.
 */
type Outcome = 'none' | 'some' | 'more' | 'failed';

class Relay {
  readonly #database: Database;
  readonly #announce: Announce;
  readonly #onFailure: OnFailure;
  #isFailing = false;
  #succeededAt = performance.now();
  /** How many transactions a round takes. After a round that timed out, it takes fewer. */
  #count = MAX_RELAYED;
  /**
   * When the last search without a limit began. It is minus infinity at first and while there is a backlog, so that everything is
   * searched.
   */
  #searchedAllAt = Number.NEGATIVE_INFINITY;

  constructor(database: Database, announce: Announce, onFailure: OnFailure) {
    this.#database = database;
    this.#announce = announce;
    this.#onFailure = onFailure;
  }

  /** Never rejects. */
  async round(): Promise<Outcome> {
    try {
      const outcome = await this.#relay();
      this.#isFailing = false;
      this.#succeededAt = performance.now();
      return outcome;
    } catch (error) {
      this.#searchedAllAt = Number.NEGATIVE_INFINITY;
      // Numbering takes a long time if the events belong to many programs, so fewer transactions are taken at once.
      if (error instanceof StoreFailure && error.sqlState === QUERY_CANCELED) this.#count = Math.ceil(this.#count / 4);
      const isLocked = error instanceof StoreFailure && error.lockTimeout;
      if (isLocked && performance.now() - this.#succeededAt < MAX_WAIT_MILLISECONDS) return 'some';
      this.#onFailure(error, this.#isFailing);
      this.#isFailing = true;
      return 'failed';
    }
  }

  async #relay(): Promise<Outcome> {
    const startedAt = performance.now();
    const isRecent = startedAt - this.#searchedAllAt < FULL_SEARCH_MILLISECONDS;
    const count = this.#count;
    const statement = relayEvents(isRecent ? SEARCH_BACK_SECONDS : null, count);
    const { found, programIds } = toRelayed(await this.#database.underLock(HOLD_RELAY, statement));
    if (programIds.length > 0) this.#announce(programIds);
    this.#count = Math.min(MAX_RELAYED, count * 2);
    if (found === count) {
      this.#searchedAllAt = Number.NEGATIVE_INFINITY;
      return 'more';
    }
    if (!isRecent) this.#searchedAllAt = startedAt;
    return found > 0 ? 'some' : 'none';
  }
}
