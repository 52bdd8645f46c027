import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../../domain/refusal.ts';
import { answerBrokenInput, answerConnect, writeRecord } from './broken-input.ts';
import { NoAnswer } from './overdue.ts';
import type { ErrorRecordResponse } from './record-response.ts';
import type { HttpService } from './service.ts';

/** A server of Node for one address. */
export type AddressServer = Server<typeof IncomingMessage, typeof ErrorRecordResponse>;

/** Takes a request that Node has read the head of. */
export type Begin = (request: IncomingMessage, response: ErrorRecordResponse, awaitsContinue: boolean) => void;

/** Creates the server for one address; nothing it can emit goes unanswered. */
export function createAddressServer(
  service: HttpService,
  response: typeof ErrorRecordResponse,
  begin: Begin,
): AddressServer {
  const { settings } = service;
  const server = createServer({
    ServerResponse: response,
    maxHeaderSize: settings.headMost,
    headersTimeout: settings.headTimeout_ms,
    requestTimeout: settings.requestTimeout_ms,
    connectionsCheckingInterval: settings.timeoutCheck_ms,
    keepAliveTimeout: settings.keepAlive_ms,
    // Asked for with the other headers, so that the answer says what is missing.
    requireHostHeader: false,
  });
  // Node drops headers beyond its count without a word; here they are all seen, counted and refused.
  server.maxHeadersCount = 0;
  server.maxRequestsPerSocket = settings.requestsPerConnection;
  // A caller that closes its side after the request still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (socket) => service.connections.add(socket, settings.linger_ms));
  server.on('request', (request, answer) => begin(request, answer, false));
  server.on('checkContinue', (request, answer) => begin(request, answer, true));
  server.on('checkExpectation', (request, answer) => begin(request, answer, false));
  server.on('clientError', (error, socket) => answerBrokenInput(service, error, socket));
  server.on('connect', (request, socket) => answerConnect(service, request, socket));
  return server;
}

/** Listens on one address. Rejects with the error as Node gives it, such as EADDRINUSE. */
export function listenOn(server: AddressServer, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, ipv6Only: host.includes(':') }, () => {
      server.off('error', reject);
      const address = server.address();
      if (address !== null && typeof address === 'object') resolve(address);
      else reject(new Error('The server listens on something that is no address.'));
    });
  });
}

/** Whether a machine simply does not have an address. */
export function isMissingAddress(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT';
}

const POLL_MS = 10;

/**
 * Closes servers without losing an answer: nothing new is accepted, requests on open connections are told that the
 * service is closing, those in flight finish, or are answered after `drainMost_ms` that nobody waits for them longer.
 */
export async function drain(service: HttpService, servers: readonly AddressServer[]): Promise<void> {
  const { settings, active, connections } = service;
  // Node's own close would cut idle connections at once, and with them requests that are on their way.
  const closed = servers.map((server) => new Promise((done) => NetServer.prototype.close.call(server, done)));
  const start = Date.now();
  await delay(Math.min(settings.drainGrace_ms, settings.drainMost_ms));
  while (active.size > 0 && Date.now() - start < settings.drainMost_ms) await delay(POLL_MS);
  for (const exchange of active) exchange.giveUp?.(new NoAnswer('The service closed before the operation had ended.'));
  const closing = new Refusal('service_unavailable', 'The service is closing.');
  for (const connection of connections.all()) {
    if (connection.onFault !== undefined) connection.onFault(closing);
    else if (!connection.busy && connection.hasInput) writeRecord(service, connection, closing);
    else if (!connection.busy) connection.end(settings.linger_ms);
  }
  // Answers to what was given up are written now.
  for (let turn = 0; active.size > 0 && turn < 10; turn += 1) await delay(POLL_MS);
  for (const connection of connections.all()) connection.end(settings.linger_ms);
  await Promise.race([Promise.all(closed), delay(LAST_BYTES_MS, undefined, { ref: false })]);
  for (const connection of connections.all()) connection.socket.destroy();
  // Stops the timers of Node's server; it is closed already.
  for (const server of servers) server.close();
  await Promise.all(closed);
}

/** Time for the last bytes to leave once everything is answered. */
const LAST_BYTES_MS = 200;
