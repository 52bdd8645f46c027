import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { waitFor } from '../harness/process.ts';

/** An event as the receiver got it. */
export type Received = {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: {
    readonly event_id: string;
    readonly type: string;
    readonly position: number;
    readonly data?: object;
  };
};

/** The response to a request: a status, a whole response, or a function, which may never respond. */
export type Response =
  | number
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | ((response: ServerResponse) => void);

/** An HTTP server that receives webhooks. It keeps its port when it restarts. */
export class Receiver {
  readonly received: Received[] = [];
  /** The number of requests that have no response yet, and the maximum of this number. */
  open = 0;
  maxOpen = 0;
  respond: (received: Received) => Response = () => 204;
  #server: Server | undefined;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hooks`;
  }

  /** The positions of the events in order of arrival. */
  get positions(): readonly number[] {
    return this.received.map(({ event }) => event.position);
  }

  async start(): Promise<void> {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      request.on('error', () => undefined);
      try {
        for await (const chunk of request) chunks.push(chunk as Buffer);
      } catch {
        // The sender was killed.
        return;
      }
      const body = Buffer.concat(chunks).toString('utf8');
      const received = { headers: request.headers, body, event: JSON.parse(body) as Received['event'] };
      this.received.push(received);
      this.open += 1;
      this.maxOpen = Math.max(this.maxOpen, this.open);
      response.once('close', () => {
        this.open -= 1;
      });
      const given = this.respond(received);
      if (typeof given === 'function') given(response);
      else if (typeof given === 'number') response.writeHead(given).end();
      else response.writeHead(given.status, given.headers).end(given.body);
    });
    // Another process may have taken the port since `kill`.
    await waitFor('the port of the receiver', () => isListening(server, this.#port));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Stops the server immediately. Requests in progress get no response, and later requests get no connection. */
  async kill(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  /** Waits until all positions from `first` to `last` have arrived. */
  async all(first: number, last: number): Promise<void> {
    await waitFor(`the positions ${first} to ${last}`, async () => {
      const seen = new Set(this.positions);
      for (let position = first; position <= last; position += 1) if (!seen.has(position)) return false;
      return true;
    });
  }
}

/** Starts to listen on a port. Returns false if another process has it. */
function isListening(server: Server, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error);
    server.once('error', onError).listen(port, '127.0.0.1', () => {
      server.off('error', onError);
      resolve(true);
    });
  });
}

/** Starts a receiver that ends with the test. */
export async function receiverForTest(): Promise<Receiver> {
  const receiver = new Receiver();
  await receiver.start();
  onTestFinished(() => receiver.kill());
  return receiver;
}
