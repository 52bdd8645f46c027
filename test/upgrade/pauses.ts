import { keptConnections, sendRaw } from '../harness/raw-request.ts';

/** Clients that send a transfer after the response to the one before. */
const CLIENTS = 12;

/** What the requests of some time came to; times in milliseconds. */
export type Pauses = {
  readonly succeeded: number;
  /** The longest time in which no request got its response. */
  readonly pause: number;
  /** The longest time to a response. */
  readonly slowest: number;
  /** What was refused or got no response, a sentence each. */
  readonly failures: readonly string[];
};

/** Requests that go on until they are stopped, and what they came to since one asked last. */
export type Requests = { readonly take: () => Pauses; readonly stop: () => Promise<void> };

/** Sends transfers to a service, whose cards are named by `card`, with the key of a card program. */
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
      // A pause that goes on counts as long as it has lasted.
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
