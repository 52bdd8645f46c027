import { keptConnections, sendRaw } from '../harness/raw-request.ts';

/** The number of clients. Each one sends its next transfer after each response. */
const CLIENTS = 12;

/** Figures about the requests of a period. Times are in milliseconds. */
export type Pauses = {
  readonly succeeded: number;
  /** The longest time in which no request got a response. */
  readonly pause: number;
  /** The longest time that a response took. */
  readonly slowest: number;
  /** A sentence for each request that was refused or got no response. */
  readonly failures: readonly string[];
};

/** Requests that continue until `stop`. `take` returns the figures since its last call. */
export type Requests = { readonly take: () => Pauses; readonly stop: () => Promise<void> };

/** Sends transfers to a service with a card program's key. `card` returns the names of the cards. */
export function startRequests(url: string, key: string, card: (number: number) => string): Requests {
  const agent = keptConnections(CLIENTS);
  const fresh = () => ({ succeeded: 0, pause: 0, slowest: 0, failures: [] as string[] });
  let found = fresh();
  let lastAt = performance.now();
  let isOver = false;
  let number = 0;
  const send = async (): Promise<void> => {
    const started = performance.now();
    number += 1;
    const headers = { Authorization: `Bearer ${key}`, 'Idempotency-Key': `upgrade-${number}` };
    const body = { amount: 100, card_id: card(number) };
    try {
      const { status, text } = await sendRaw(url, { headers, body }, agent);
      if (status === 201) found.succeeded += 1;
      else found.failures.push(`${status}: ${text.trim()}`);
    } catch (error) {
      found.failures.push(String(error));
    }
    const now = performance.now();
    found.slowest = Math.max(found.slowest, now - started);
    found.pause = Math.max(found.pause, now - lastAt);
    lastAt = now;
  };
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isOver) await send();
  });
  return {
    take: () => {
      // A pause that is still running counts with its length so far.
      const taken = { ...found, pause: Math.max(found.pause, performance.now() - lastAt) };
      found = fresh();
      return taken;
    },
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
      agent.destroy();
    },
  };
}
