import { Refusal } from '../../../domain/refusal.ts';
import type { RequestContext } from '../request-context.ts';

/** How a request watches: with a stream, or with a response that waits for the next event or until a transfer has ended. */
export type WatchKind = 'stream' | 'wait' | 'transfer';

/**
 * Maximum number of watchers of each kind, per card program and for the whole process. All operators together count as one program.
 */
export type WatchLimits = Readonly<Record<WatchKind, { readonly perProgram: number; readonly inTotal: number }>>;

/**
 * An open stream costs a connection, some memory, and an additional read of every event of its program. A program needs
 * one stream for each of its processes. Waits are shorter, and a program may have many waiting clients. Even more
 * clients may wait for their transfers.
 */
export const WATCH_LIMITS: WatchLimits = {
  stream: { perProgram: 10, inTotal: 2_000 },
  wait: { perProgram: 100, inTotal: 4_000 },
  transfer: { perProgram: 1_000, inTotal: 4_000 },
};

/** The Retry-After for a refused watcher. */
const RETRY_MILLISECONDS = 1_000;

/** The requests that watch for events or transfers. They are nearly always idle, so they do not count as load or as late. */
export class Watchers {
  readonly #counts: Readonly<Record<WatchKind, Map<string, number>>> = {
    stream: new Map(),
    wait: new Map(),
    transfer: new Map(),
  };
  readonly #totals: Record<WatchKind, number> = { stream: 0, wait: 0, transfer: 0 };
  readonly #open = new Set<AbortController>();
  readonly #limits: WatchLimits;
  #isEnding = false;

  constructor(limits: WatchLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Counts a watcher until its response ends. Returns a signal. It aborts when the response ends, when the service
   * stops, and when the caller half-closes the connection. A caller that is still reading never half-closes it. If the
   * service is already stopping, the signal aborts immediately.
   *
   * @throws {Refusal} rate_limited, service_unavailable
   */
  admit(context: RequestContext, kind: WatchKind): AbortSignal {
    const { request, response } = context;
    const controller = new AbortController();
    const end = (): void => controller.abort();
    // If the response is already closed, it emits no further close event.
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

  /**
   * Counts a watcher for a stored transfer, as {@link admit} does. If there are too many, the signal has already aborted. Never
   * throws.
   */
  admitStored(context: RequestContext): AbortSignal {
    try {
      return this.admit(context, 'transfer');
    } catch (thrown) {
      if (thrown instanceof Refusal) return AbortSignal.abort();
      throw thrown;
    }
  }

  /** Ends all watches. Watches that begin later end immediately. */
  endAll(): void {
    this.#isEnding = true;
    for (const controller of this.#open) controller.abort();
  }

  #enter(who: string, kind: WatchKind): () => void {
    const counts = this.#counts[kind];
    const count = counts.get(who) ?? 0;
    const { perProgram, inTotal } = this.#limits[kind];
    if (count >= perProgram) throw tooMany(who, kind, perProgram);
    if (this.#totals[kind] >= inTotal) {
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

function tooMany(who: string, kind: WatchKind, max: number): Refusal {
  const whose = who === '' ? 'Operators already have' : 'This card program already has';
  const what = kind === 'stream' ? `${max} open streams` : `${max} requests that wait for events`;
  const message = `${whose} ${what}. Retry when one has ended.`;
  return new Refusal('rate_limited', message, { endsIn: RETRY_MILLISECONDS });
}
