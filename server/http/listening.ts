import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { closeIdleConnection, NoResponseError, timeOutRequest } from './admission/timeouts.ts';
import { closingRefusal, type HttpService } from './service.ts';
import { respondToConnect, respondToParserError, writeRecord } from './wire/node-errors.ts';
import type { ErrorRecordResponse } from './wire/record-response.ts';

export type AddressServer = Server<typeof IncomingMessage, typeof ErrorRecordResponse>;

export type Begin = (request: IncomingMessage, response: ErrorRecordResponse, awaitsContinue: boolean) => void;

/** Creates the server for one address, with a handler for every event that needs a response. */
export function createAddressServer(
  service: HttpService,
  response: typeof ErrorRecordResponse,
  begin: Begin,
): AddressServer {
  const { settings } = service;
  const server = createServer({
    ServerResponse: response,
    maxHeaderSize: settings.maxHeadBytes,
    headersTimeout: settings.headTimeoutMilliseconds,
    requestTimeout: settings.requestTimeoutMilliseconds,
    connectionsCheckingInterval: settings.timeoutCheckIntervalMilliseconds,
    keepAliveTimeout: settings.keepAliveTimeoutMilliseconds,
    keepAliveTimeoutBuffer: settings.keepAliveBufferMilliseconds,
    // readHead checks the header, so that the error response is a record.
    requireHostHeader: false,
  });
  // Node silently drops headers beyond its limit. Instead, readHead counts all headers and refuses the request.
  server.maxHeadersCount = 0;
  server.maxRequestsPerSocket = settings.maxRequestsPerConnection;
  // A caller that half-closes its connection after the request must still get the response.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (socket) => {
    service.connections.add(socket, settings.lingerMilliseconds);
    server.keepAliveTimeout = keepAliveOf(service);
    socket.once('close', () => {
      server.keepAliveTimeout = keepAliveOf(service);
    });
  });
  server.on('request', (request, response) => begin(request, response, false));
  server.on('checkContinue', (request, response) => begin(request, response, true));
  server.on('checkExpectation', (request, response) => begin(request, response, false));
  server.on('clientError', (error, socket) => {
    if ((error as NodeJS.ErrnoException).code === 'ERR_HTTP_REQUEST_TIMEOUT') timeOutRequest(service, error, socket);
    else respondToParserError(service, error, socket);
  });
  // If there is a listener, Node itself does not close idle connections.
  server.on('timeout', (socket) => closeIdleConnection(service, socket));
  server.on('connect', (request, socket) => respondToConnect(service, request, socket));
  return server;
}

/**
 * Node reads this property for each response: for the `Keep-Alive` header, and again after the response has been sent.
 */
function keepAliveOf({ connections, settings }: HttpService): number {
  const { keepAliveTimeoutMilliseconds, crowdedKeepAliveMilliseconds, maxKeptConnections } = settings;
  if (connections.size <= maxKeptConnections) return keepAliveTimeoutMilliseconds;
  return Math.min(keepAliveTimeoutMilliseconds, crowdedKeepAliveMilliseconds);
}

/**
 * Number of connections that can wait to be accepted, if the kernel allows that many. Node accepts one per turn of the event loop.
 * With Node's default of 511, callers beyond it would retry after 1, 3 and 7 seconds.
 */
const ACCEPT_BACKLOG = 4_096;

/** Listens on one address. Rejects with Node's error, such as EADDRINUSE. */
export function listenOn(server: AddressServer, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: ACCEPT_BACKLOG, ipv6Only: host.includes(':') }, () => {
      server.off('error', reject);
      const address = server.address();
      if (address !== null && typeof address === 'object') resolve(address);
      else reject(new Error('The server has no address.'));
    });
  });
}

export function isMissingAddress(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT';
}

const POLL_MILLISECONDS = 10;

/** Maximum time for refusing requests on open connections, before the connections are closed. */
const KEEP_ALIVE_DRAIN_MILLISECONDS = 500;

/**
 * Closes servers without losing a response. First, every response closes its connection. Then new requests are refused, no
 * connection is accepted, and requests in flight finish. Requests that have not finished after `maxDrainMilliseconds` are abandoned
 * with an error response.
 */
export async function drain(service: HttpService, servers: readonly AddressServer[]): Promise<void> {
  const { settings, active, connections } = service;
  const start = performance.now();
  const graceMilliseconds = Math.min(settings.drainGraceMilliseconds, settings.maxDrainMilliseconds);
  await untilQuiet(service, graceMilliseconds);
  // From now on, requests get a 503, so that callers retry later or elsewhere.
  service.isRefusing = true;
  const closed = await stopAccepting(service, servers);
  // Callers with open connections must get the 503 as well.
  if (connections.all().length > 0) await untilQuiet(service, KEEP_ALIVE_DRAIN_MILLISECONDS);
  while (mustWait(service) && performance.now() - start < settings.maxDrainMilliseconds) await delay(POLL_MILLISECONDS);
  for (const context of active)
    context.abandon?.(new NoResponseError('The service closed before the operation finished.'));
  // Requests that have already arrived are read in this turn of the event loop, so that they get a refusal instead of a closed
  // connection.
  await nextTurn();
  endIdle(service);
  // The responses to abandoned requests are written in these turns.
  for (let turn = 0; active.size > 0 && turn < 10; turn += 1) await delay(POLL_MILLISECONDS);
  for (const connection of connections.all()) connection.end(settings.lingerMilliseconds);
  await Promise.race([Promise.all(closed), delay(LAST_BYTES_MILLISECONDS, undefined, { ref: false })]);
  for (const connection of connections.all()) connection.socket.destroy();
  // The server is already closed. This stops the timers of Node's server.
  for (const server of servers) server.close();
  await Promise.all(closed);
}

/** Waits until no request has arrived for `drainQuietMilliseconds`, but at most `maxMilliseconds`. */
async function untilQuiet(service: HttpService, maxMilliseconds: number): Promise<void> {
  const start = performance.now();
  let seen = service.requests;
  for (let now = start, lastAt = start; now - start < maxMilliseconds; now = performance.now()) {
    if (service.requests !== seen) lastAt = now;
    else if (now - lastAt >= service.settings.drainQuietMilliseconds) return;
    seen = service.requests;
    await delay(Math.min(POLL_MILLISECONDS, maxMilliseconds));
  }
}

/** Maximum time for accepting the connections in the accept backlog. Each turn of the event loop accepts one connection. */
const ACCEPT_DRAIN_MILLISECONDS = 1_500;

/** A turn of the event loop that is shorter than this was idle. No connection can have arrived unnoticed in such a turn. */
const EMPTY_TURN_MILLISECONDS = 0.05;

/**
 * Stops accepting connections. Closing the server resets the connections in the accept backlog. So these are accepted
 * first, until a turn of the event loop accepts none and is too short for a new one to arrive.
 */
async function stopAccepting(
  { connections }: HttpService,
  servers: readonly AddressServer[],
): Promise<readonly Promise<unknown>[]> {
  for (const start = performance.now(); performance.now() - start < ACCEPT_DRAIN_MILLISECONDS; ) {
    const { accepted } = connections;
    const turnBeganAt = performance.now();
    await nextTurn();
    if (accepted === connections.accepted && performance.now() - turnBeganAt < EMPTY_TURN_MILLISECONDS) break;
  }
  // The close function of Node's http server would end idle connections immediately, and lose requests in transit.
  return servers.map((server) => new Promise((resolve) => NetServer.prototype.close.call(server, resolve)));
}

/** Returns whether a request is in flight that can still succeed. */
function mustWait({ active, connections, settings }: HttpService): boolean {
  // Without an operation in progress, a request or a connection delays the shutdown only for `lingerMilliseconds` after its
  // start. Its caller may be slow to send or to read.
  const now = performance.now();
  const isFresh = (since: number): boolean => now - since < settings.lingerMilliseconds;
  for (const context of active) if (context.abandon !== undefined || isFresh(context.beganAt)) return true;
  return connections.all().some(({ latest, openedAt }) => latest === undefined && isFresh(openedAt));
}

/** Ends idle connections. A request that was received only in part gets an error record. */
function endIdle(service: HttpService): void {
  const closing = closingRefusal();
  for (const connection of service.connections.all()) {
    if (connection.onFault !== undefined) connection.onFault(closing);
    else if (!connection.busy && connection.hasInput) writeRecord(service, connection, closing);
    else if (!connection.busy) connection.end(service.settings.lingerMilliseconds);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Time for sending the last bytes after all responses are written. */
const LAST_BYTES_MILLISECONDS = 200;
