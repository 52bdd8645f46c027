import { performance } from 'node:perf_hooks';
import { toWireId } from '../../../domain/identifier.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { signMessage } from '../../foundation/signature.ts';
import type { Answer, Sender } from '../outbound/sender.ts';
import type { Definition, Item } from './endpoint/definition.ts';
import type { Endpoint } from './endpoint/endpoint.ts';
import { judge, type Outcome, type Sent, SLOW_MILLISECONDS } from './judge.ts';

// Invariant: In strict order, an event is sent only after the delivery of the previous one is stored, even if a process is stopped
//   or frozen
// Kept by: only one request in flight; leases with epochs, which are checked again before a request is written
// Tested by: `test/delivery/order.test.ts`, `test/delivery/processes.test.ts`

// Invariant: Receivers that hang or fail do not delay others
// Kept by: windows, turns, and a limit for slow requests
// Tested by: `test/delivery/order.test.ts`, `test/outbound`

const MAX_FLIGHTS = 512;

/**
 * Slow requests count only up to this number. While there are that many, nothing more is sent to slow receivers. The rest of the
 * limit is always available to other receivers.
 */
const MAX_SLOW_FLIGHTS = 256;

const MAX_SENT_PER_TURN = 8;

/** How often to check whether requests in flight have become slow. */
const CHECK_MILLISECONDS = 250;

const USER_AGENT = 'Transfer-Service-Webhooks/0.1';

type Flight = { readonly endpoint: Endpoint; readonly startedAt: number; isSlow: boolean };

export type DispatcherParts = {
  readonly sender: Pick<Sender, 'send'>;
  /** Returns whether this process may send. It may while its leases are valid. */
  readonly maySend: () => boolean;
  readonly onOutcome: (outcome: Outcome) => void;
};

/** Sends the events of a process's webhooks, in turns, so that no webhook delays the others. */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  #queue: Endpoint[] = [];
  /** Slow webhooks that wait until there are fewer requests in flight to slow webhooks. */
  #slowQueue: Endpoint[] = [];
  /** The requests in flight, oldest first. */
  readonly #flights = new Set<Flight>();
  #slow = 0;
  #isScheduled = false;
  readonly #timer: NodeJS.Timeout;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#findSlow(), CHECK_MILLISECONDS);
  }

  get flights(): number {
    return this.#flights.size;
  }

  queue(endpoint: Endpoint): void {
    if (!endpoint.isQueued) {
      endpoint.isQueued = true;
      this.#queue.push(endpoint);
    }
    this.#schedule();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#queue = [];
    this.#slowQueue = [];
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#turn();
    });
  }

  #turn(): void {
    while (this.#queue.length > 0 && this.#hasRoom(false)) {
      const turns = this.#queue;
      this.#queue = [];
      for (const [index, endpoint] of turns.entries()) {
        if (!this.#hasRoom(false)) {
          this.#queue = [...turns.slice(index), ...this.#queue];
          return;
        }
        endpoint.isQueued = false;
        this.#serve(endpoint);
      }
    }
  }

  #serve(endpoint: Endpoint): void {
    for (let sent = 0; sent < MAX_SENT_PER_TURN; sent += 1) {
      if (!this.#hasRoom(endpoint.isSlow)) {
        endpoint.isQueued = true;
        (endpoint.isSlow ? this.#slowQueue : this.#queue).push(endpoint);
        return;
      }
      // A frozen process may have lost its lease since the last check.
      if (!this.#parts.maySend()) return;
      const item = endpoint.take();
      if (item === undefined) return;
      this.#send(endpoint, item);
    }
    endpoint.isQueued = true;
    this.#queue.push(endpoint);
  }

  #hasRoom(isSlow: boolean): boolean {
    const counted = Math.min(this.#slow, MAX_SLOW_FLIGHTS);
    if (isSlow) return this.#slow < MAX_SLOW_FLIGHTS && this.#flights.size < MAX_FLIGHTS;
    return this.#flights.size - this.#slow + counted < MAX_FLIGHTS;
  }

  #send(endpoint: Endpoint, item: Item): void {
    const startedAt = databaseTime();
    const flight = { endpoint, startedAt: performance.now(), isSlow: endpoint.isSlow };
    this.#flights.add(flight);
    if (flight.isSlow) this.#slow += 1;
    const { url, revision } = endpoint.definition;
    const { body } = item;
    const headers = headersOf(endpoint.definition, item, startedAt);
    // The process may have been frozen while the connection was opened. Another process may have continued in the meantime.
    const isWanted = (): boolean => this.#parts.maySend() && !endpoint.isDropped;
    this.#parts.sender
      .send({ method: 'POST', url, headers, body, signal: endpoint.signal, isWanted })
      .then((answer) => {
        this.#finish(flight);
        this.#judge(endpoint, item, answer, { startedAt, revision });
      });
  }

  #finish(flight: Flight): void {
    this.#flights.delete(flight);
    if (flight.isSlow) this.#slow -= 1;
    this.#continue();
  }

  #judge(endpoint: Endpoint, item: Item, answer: Answer, sent: Sent): void {
    if (answer.error === 'aborted') {
      // The event will be sent again, by this process or by the next holder of the shard.
      endpoint.giveBack(item);
      return;
    }
    this.#parts.onOutcome(judge(endpoint, item, answer, sent));
  }

  /** Counts requests as slow once they have taken a long time, even before they have an answer. */
  #findSlow(): void {
    const since = performance.now() - SLOW_MILLISECONDS;
    for (const flight of this.#flights) {
      if (flight.startedAt > since) break;
      if (flight.isSlow) continue;
      flight.isSlow = true;
      flight.endpoint.isSlow = true;
      this.#slow += 1;
    }
    this.#continue();
  }

  /** Gives turns to webhooks that were waiting for other requests to finish. */
  #continue(): void {
    for (const endpoint of this.#slowQueue.splice(0, Math.max(0, MAX_SLOW_FLIGHTS - this.#slow))) {
      endpoint.isQueued = false;
      this.queue(endpoint);
    }
    if (this.#queue.length > 0) this.#schedule();
  }
}

function headersOf(
  { headers, keys }: Definition,
  { eventId, body, traceparent }: Item,
  now: number,
): Record<string, string> {
  const signing = keys.filter(({ expiresAt }) => expiresAt === null || expiresAt > now).map(({ key }) => key);
  return {
    ...headers,
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    ...(traceparent === null ? {} : { traceparent }),
    ...signMessage({ id: toWireId('evt', eventId), sentAt: new Date(now), body }, signing),
  };
}
