import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { lastingPort } from '../../../test/sdk/lasting-port.ts';
import { pause } from '../../campaign.ts';
import { type Delivery, hashOf } from '../../checkers/deliveries/checker.ts';

/**
 * The behavior of a receiver: it responds with 204, with 204 after a delay, with 500 or with 429, does not respond, or
 * closes the connection. With a `share`, only that share of the requests gets this behavior, and the others get 204.
 */
export type Conduct = {
  readonly kind: 'good' | 'slow' | 'fails' | 'limits' | 'black hole' | 'closes';
  readonly share?: number;
};

/** The longest delay of a slow response, in milliseconds. */
const MAX_DELAY = 300;

/** The `Retry-After` of a 429, far shorter than the service's own schedule. */
const RETRY_AFTER_SECONDS = '1';

/** How long the receiver keeps a connection, in milliseconds. The service keeps connections for less time. */
const KEEP_ALIVE = 120_000;

/** A webhook at the receiver: how it behaves, the secrets that may sign, and everything that arrived. */
type Endpoint = { conduct: Conduct; readonly secrets: string[]; readonly deliveries: Delivery[] };

/** A server that receives the webhooks of a ledger. It records requests before it responds, and keeps its port when it restarts. */
export class Receiver {
  readonly url: string;
  restarts = 0;
  readonly #port: number;
  readonly #random: () => number;
  readonly #endpoints = new Map<string, Endpoint>();
  #server: Server | undefined;

  private constructor(port: number, random: () => number) {
    this.#port = port;
    this.#random = random;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(random: () => number): Promise<Receiver> {
    const receiver = new Receiver(await lastingPort(), random);
    await receiver.#listen();
    return receiver;
  }

  /** Sets the behavior for a webhook. */
  conduct(webhook: string, conduct: Conduct): void {
    this.#endpoint(webhook).conduct = conduct;
  }

  /** Adds a secret that may sign the deliveries of a webhook. */
  addSecret(webhook: string, secret: string): void {
    this.#endpoint(webhook).secrets.push(secret);
  }

  /** Returns the deliveries of a webhook so far, in order of arrival. */
  deliveriesOf(webhook: string): readonly Delivery[] {
    return [...this.#endpoint(webhook).deliveries];
  }

  /** Stops, and listens again after `wait`. */
  async restart(wait: Promise<unknown>): Promise<void> {
    await this.stop();
    await wait;
    this.restarts += 1;
    await this.#listen();
  }

  /** Requests in progress get no response, and later ones no connection. */
  async stop(): Promise<void> {
    const closed = this.#server === undefined ? undefined : once(this.#server, 'close');
    this.#server?.close();
    this.#server?.closeAllConnections();
    this.#server = undefined;
    await closed;
  }

  async #listen(): Promise<void> {
    const server = createServer((request, response) => {
      // The request breaks if the sender is killed.
      this.#receive(request, response).catch(() => request.socket.destroy());
    });
    server.keepAliveTimeout = KEEP_ALIVE;
    this.#server = server;
    await once(server.listen(this.#port, '127.0.0.1'), 'listening');
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { conduct, secrets, deliveries } = this.#endpoint((request.url ?? '').slice(1));
    const delivery = {
      at: Date.now(),
      eventId: String(request.headers['webhook-id']),
      hash: hashOf(body),
      verified: verify(secrets, body.toString('utf8'), request.headers),
      status: undefined as number | undefined,
    };
    deliveries.push(delivery);
    const isGood = conduct.kind === 'good' || this.#random() >= (conduct.share ?? 1);
    const kind = isGood ? 'good' : conduct.kind;
    if (kind === 'black hole') return;
    if (kind === 'closes') return void request.socket.destroy();
    if (kind === 'slow') await pause(this.#random() * MAX_DELAY);
    // The sender may have disconnected, or the receiver has stopped.
    if (request.socket.destroyed) return;
    delivery.status = kind === 'limits' ? 429 : kind === 'fails' ? 500 : 204;
    response.writeHead(delivery.status, kind === 'limits' ? { 'Retry-After': RETRY_AFTER_SECONDS } : {}).end();
  }

  #endpoint(webhook: string): Endpoint {
    const endpoint = this.#endpoints.get(webhook) ?? { conduct: { kind: 'good' }, secrets: [], deliveries: [] };
    this.#endpoints.set(webhook, endpoint);
    return endpoint;
  }
}

/** Returns the indexes of the secrets that signed a request. */
function verify(secrets: readonly string[], body: string, headers: IncomingMessage['headers']): readonly number[] {
  const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return [...secrets.keys()].filter((index) => {
    try {
      new Webhook(secrets[index] ?? '').verify(body, sent);
      return true;
    } catch {
      return false;
    }
  });
}
