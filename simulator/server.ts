import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { NotAnOrder, readOrder } from './order.ts';
import type { Processor, Reply } from './processor.ts';
import { isSigned } from './signature.ts';

/** More than any order needs. */
const MAX_BODY_BYTES = 65_536;

const CALLS = { '/send': 'send', '/inquire': 'inquire', '/reverse': 'reverse' } as const;

export function serve(processor: Processor, secret: string): Server {
  return createServer((request, response) => {
    respond(request, response, processor, secret).catch((error: unknown) => {
      // The caller has disconnected, or the book cannot be written. Then no answer is allowed.
      request.destroy();
      if (!request.readableAborted) throw error;
    });
  });
}

async function respond(request: IncomingMessage, response: ServerResponse, processor: Processor, secret: string) {
  const path = request.url ?? '';
  if (request.method === 'GET' && path === '/health') return say(response, 200, { status: 'ok' });
  if (request.method !== 'POST' || !isCall(path)) return refuse(response, 404, 'There is nothing at this path.');
  const body = await readBody(request);
  if (body === undefined) return refuse(response, 413, `A body has at most ${MAX_BODY_BYTES} bytes.`);
  if (!isSigned(request, path, body, secret)) return refuse(response, 401, 'The signature is missing, wrong or old.');
  try {
    const call = CALLS[path];
    await carryOut(await processor[call](readOrder(body, call)), request, response);
  } catch (error) {
    if (!(error instanceof NotAnOrder)) throw error;
    refuse(response, 400, error.message);
  }
}

function isCall(path: string): path is keyof typeof CALLS {
  return Object.hasOwn(CALLS, path);
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The rest of a body that is too large is not read, but its sender gets an answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function carryOut(reply: Reply, request: IncomingMessage, response: ServerResponse): Promise<void> {
  switch (reply.kind) {
    case 'answer':
      if (reply.afterSeconds > 0) await sleep(reply.afterSeconds * 1000, undefined, { ref: false });
      return say(response, 200, reply.answer);
    case 'malformed':
      return sayText(response, 200, JSON.stringify(reply.answer).slice(0, -10));
    case 'conflict':
      return refuse(response, 409, 'Another order has this attempt_id.');
    case 'server_error':
      return refuse(response, 500, 'The sandbox was asked to answer with 500.');
    case 'cut':
      return void request.socket.destroy();
    case 'cut_in_answer':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 200 });
      return void response.write('{"attempt_id": ', () => request.socket.destroy());
    case 'silence':
      return;
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  say(response, status, { error: message });
}

function say(response: ServerResponse, status: number, value: object): void {
  sayText(response, status, JSON.stringify(value));
}

function sayText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(text);
}
