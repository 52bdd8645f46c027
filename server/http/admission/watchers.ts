import { Refusal } from '../../../domain/refusal.ts';
import type { RequestContext } from '../request-context.ts';

/** How a request watches: with a stream, or with a response that waits for the next event. */
export type WatchKind = 'stream' | 'wait';

type Limit = { readonly ofOne: number; readonly ofAll: number };

/**
 * How many watchers one card program, or all operators together, and the whole process may have. An open stream costs a
 * connection and some memory, and every event of its program is read for it once more; one stream for each process of a
 * program is enough. Waits are requests of clients that wait in turns, and their clients may be many.
 */
const LIMITS: Readonly<Record<WatchKind, Limit>> = {
  stream: { ofOne: 10, ofAll: 2_000 },
  wait: { ofOne: 100, ofAll: 4_000 },
};

/** Time after which a refused watcher may find a free place. */
const RETRY_MILLISECONDS = 1_000;

/** Requests that watch for events. Nearly all of their time nothing happens, so they count neither as load nor as late. */
export class Watchers {
  readonly #counts: Readonly<Record<WatchKind, Map<string, number>>> = { stream: new Map(), wait: new Map() };
  readonly #totals: Record<WatchKind, number> = { stream: 0, wait: 0 };
  readonly #open = new Set<AbortController>();
  #isEnding = false;

  /** Requests that watch. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Counts a watcher until its response ends. The signal aborts then, when the caller sends the end of its input, which
   * nobody does who still reads, and when the service stops: at once, if it is stopping.
   *
   * @throws {Refusal} rate_limited, service_unavailable
   */
  admit(context: RequestContext, kind: WatchKind): AbortSignal {
    const { request, response } = context;
    const controller = new AbortController();
    const end = (): void => controller.abort();
    // For a closed response there is no further close event.
    if (response.closed || this.#isEnding) end();
    if (response.closed) return controller.signal;
    const leave = this.#enter(context.programId ?? '', kind);
    this.#open.add(controller);
    request.socket.once('end', end);
    response.once('close', () => {
      request.socket.off('end', end);
      this.#open.delete(controller);
      leave();
      end();
    });
    return controller.signal;
  }

  /** Ends every watch, and each that is still to come. */
  endAll(): void {
    this.#isEnding = true;
    for (const controller of this.#open) controller.abort();
  }

  #enter(who: string, kind: WatchKind): () => void {
    const counts = this.#counts[kind];
    const count = counts.get(who) ?? 0;
    const { ofOne, ofAll } = LIMITS[kind];
    if (count >= ofOne) throw tooMany(who, kind, ofOne);
    if (this.#totals[kind] >= ofAll) {
      const what = kind === 'stream' ? 'open streams' : 'requests that wait for events';
      throw new Refusal('service_unavailable', `The service has too many ${what}.`);
    }
    counts.set(who, count + 1);
    this.#totals[kind] += 1;
    return () => {
      const left = (counts.get(who) ?? 1) - 1;
      if (left === 0) counts.delete(who);
      else counts.set(who, left);
      this.#totals[kind] -= 1;
    };
  }
}

function tooMany(who: string, kind: WatchKind, most: number): Refusal {
  const whose = who === '' ? 'Operators already have' : 'This card program already has';
  const what = kind === 'stream' ? `${most} open streams` : `${most} requests that wait for events`;
  const message = `${whose} ${what}. Retry when one has ended.`;
  return new Refusal('rate_limited', message, { endsIn: RETRY_MILLISECONDS });
}
