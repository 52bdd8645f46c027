import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { lastingPort } from '../sdk/lasting-port.ts';

export type ReceivedWebhook = { readonly headers: IncomingHttpHeaders; readonly body: string };

/** A server that receives webhooks, and that can be stopped and restarted at the same URL. */
export type WebhookTarget = {
  readonly url: string;
  readonly received: ReceivedWebhook[];
  /** Returns the status and the body of the next response. */
  respond: (webhook: ReceivedWebhook) => readonly [status: number, body: string] | Promise<readonly [number, string]>;
  readonly start: () => Promise<void>;
  /** Finishes the responses in progress, then stops the server. */
  readonly stop: () => Promise<void>;
  /** Stops the server at once. A request in progress gets no response. */
  readonly cut: () => Promise<void>;
};

/** Starts a target that responds with 200 by default. */
export async function startWebhookTarget(): Promise<WebhookTarget> {
  const port = await lastingPort();
  let server = await listen(port);
  const target: WebhookTarget = {
    url: `http://127.0.0.1:${port}/hooks`,
    received: [],
    respond: () => [200, ''],
    start: async () => {
      server = await listen(port);
    },
    stop: async () => {
      let isClosed = false;
      server.close(() => {
        isClosed = true;
      });
      while (!isClosed) {
        server.closeIdleConnections();
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    cut: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return target;

  function listen(at: number): Promise<Server> {
    const listening = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const webhook = { headers: request.headers, body: Buffer.concat(chunks).toString('utf8') };
      target.received.push(webhook);
      const [status, body] = await target.respond(webhook);
      response.writeHead(status).end(body);
    });
    return new Promise((resolve, reject) => {
      listening.once('error', reject).listen(at, '127.0.0.1', () => resolve(listening));
    });
  }
}
