import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { aTransferRecord } from '../fixtures/records.ts';
import { lastingPort } from './lasting-port.ts';

export type Received = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** An export or an event stream: its chunks, which are sent separately, and how it ends. */
export type CannedStream = {
  readonly chunks: Iterable<string | Uint8Array>;
  /** The default is `text/csv`. */
  readonly contentType?: string;
  readonly ends?: 'normally' | 'cut' | 'without an end';
};

/** The response to one request, or a way to send none. */
export type Canned =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: object | string }
  | CannedStream
  | 'cut before the response'
  | 'cut within the response'
  | 'no response';

export type CannedService = {
  readonly url: string;
  readonly received: Received[];
  /** Sets the responses, in order. The last one is repeated. */
  play: (...canned: Canned[]) => void;
  /** Called when a request has arrived, before the response. */
  onRequest: (request: IncomingMessage) => void;
  close: () => Promise<void>;
};

/** Starts an HTTP server that sends canned responses and records requests. */
export async function startCannedService(): Promise<CannedService> {
  const received: Received[] = [];
  let queue: Canned[] = [];
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    received.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    service.onRequest(request);
    const canned = queue.length > 1 ? queue.shift() : queue[0];
    await respond(request, response, canned ?? { status: 200, body: { data: [], next_cursor: null } });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const service: CannedService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    play: (...canned) => {
      received.length = 0;
      queue = canned;
    },
    onRequest: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return service;
}

/**
 * Starts a separate service for a test that abandons requests. An abandoned request can arrive after the test. A shared
 * service would count it in the next test, or send it another request's response.
 */
export async function startOwnService(...canned: Canned[]): Promise<CannedService> {
  const own = await startCannedService();
  onTestFinished(own.close);
  own.play(...canned);
  return own;
}

async function respond(request: IncomingMessage, response: ServerResponse, canned: Canned): Promise<void> {
  if (canned === 'no response') return;
  if (canned === 'cut before the response') {
    request.socket.destroy();
    return;
  }
  if (canned === 'cut within the response') {
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"transfer_id":', () => request.socket.destroy());
    return;
  }
  if ('chunks' in canned) {
    await respondWithStream(response, canned);
    return;
  }
  const isText = typeof canned.body === 'string';
  response.writeHead(canned.status, {
    'content-type': isText ? 'text/html' : 'application/json',
    'request-id': 'req_canned',
    ...canned.headers,
  });
  response.end(isText ? canned.body : JSON.stringify(canned.body ?? {}));
}

async function respondWithStream(response: ServerResponse, canned: CannedStream): Promise<void> {
  const { chunks, contentType = 'text/csv; charset=utf-8', ends = 'normally' } = canned;
  response.writeHead(200, { 'content-type': contentType, 'request-id': 'req_canned' });
  response.flushHeaders();
  for (const chunk of chunks) await new Promise<void>((resolve) => response.write(chunk, () => resolve()));
  if (ends === 'normally') response.end();
  if (ends !== 'cut') return;
  // A client that receives the cut together with the chunks may discard the chunks.
  await new Promise((resolve) => setTimeout(resolve, 20));
  // If the machine stalled, a client in the same process may not have received the chunks yet. It reads them in the
  // next turns.
  for (let turn = 0; turn < 10; turn += 1) await turnOfLoop();
  response.socket?.destroy();
}

export async function deadUrl(): Promise<string> {
  return `http://127.0.0.1:${await lastingPort()}`;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** A transfer in a response. */
export const TRANSFER = aTransferRecord();

/** A response with an error record (specification, section 2.1). */
export function errorResponse(
  record: { Message?: string; Status: number; Code: string; Type: string },
  headers: Record<string, string> = {},
): Canned {
  const { Message = 'Something specific.', Status, Code, Type } = record;
  return { status: Status, headers, body: { Message, Status, Code, Type } };
}

/** The response of a service without its database. No money moved. */
export function failingResponse(headers: Record<string, string> = {}): Canned {
  return errorResponse(
    { Status: 500, Code: 'unknown_create_transfer', Type: 'Server Error' },
    { 'money-moved': 'no', 'should-retry': 'true', ...headers },
  );
}
