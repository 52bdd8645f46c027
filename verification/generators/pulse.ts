import type { Agent } from 'node:http';
import { waitFor } from '../../test/harness/process.ts';
import { keptConnections, NoResponse, sendRaw } from '../../test/harness/raw-request.ts';
import { pause } from '../campaign.ts';

/** The interval between requests, in milliseconds. Requests do not wait for earlier responses. */
const BETWEEN = 20;

/** The maximum number of open requests: the requests of ten seconds. */
const MAX_OPEN = 500;

/** A request of the pulse. Times are from `performance.now()`. `status` is 0 without a response. */
type Beat = { readonly sentAt: number; readonly answeredAt: number; readonly status: number };

/**
 * Creates transfers at a constant rate, at each service in turn, like many independent callers. Shows for how
 * long the services acknowledged no transfer.
 */
export class Pulse {
  readonly beats: Beat[] = [];
  readonly #agent: Agent = keptConnections(MAX_OPEN);
  readonly #running: Promise<void>;
  #lastSentAt = 0;
  #isOver = false;

  constructor(urls: readonly string[]) {
    this.#running = this.#run(urls);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    this.#agent.destroy();
  }

  /** Waits for the first transfer acknowledged after a time. Returns the difference in milliseconds, or Infinity after `most`. */
  async firstAfter(time: number, most: number): Promise<number> {
    for (;;) {
      const first = this.beats.find(({ status, answeredAt }) => status === 201 && answeredAt > time);
      if (first !== undefined) return first.answeredAt - time;
      if (performance.now() - time > most) return Number.POSITIVE_INFINITY;
      await pause(5);
    }
  }

  /** Waits until a request has been sent after a time. Without one, no transfer could have been acknowledged anyway. */
  async untilSentAfter(time: number): Promise<void> {
    await waitFor('a request during the fault', async () => this.#lastSentAt > time);
  }

  /** Counts the acknowledged transfers that were sent after a time. */
  acknowledgedSince(time: number): number {
    return this.beats.filter(({ sentAt, status }) => status === 201 && sentAt > time).length;
  }

  /**
   * Returns the longest pause between two acknowledged transfers, in milliseconds. Counts only pauses that ended after
   * `from`.
   */
  longestSilence(from: number): number {
    const times = this.beats.filter(({ status }) => status === 201).map(({ answeredAt }) => answeredAt);
    const silences = times.map((time, index) => (time < from ? 0 : time - (times[index - 1] ?? time)));
    return Math.max(0, ...silences);
  }

  async #run(urls: readonly string[]): Promise<void> {
    const open = new Set<Promise<void>>();
    for (let turn = 0; !this.#isOver; turn += 1) {
      if (open.size < MAX_OPEN) {
        const sent = this.#beat(urls[turn % urls.length] ?? '').finally(() => open.delete(sent));
        open.add(sent);
      }
      await pause(BETWEEN);
    }
    await Promise.all(open);
  }

  async #beat(url: string): Promise<void> {
    const sentAt = performance.now();
    this.#lastSentAt = sentAt;
    const body = { amount: 1, card_id: 'card_active' };
    const status = await sendRaw(url, { body }, this.#agent).then(
      (response) => response.status,
      (error: unknown) => {
        if (error instanceof NoResponse) return 0;
        throw error;
      },
    );
    this.beats.push({ sentAt, answeredAt: performance.now(), status });
  }
}
