import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeIdleConnection, timeOutRequest } from './admission/timeouts.ts';
import type { HttpService } from './service.ts';
import { respondToConnect, respondToParserError } from './wire/node-errors.ts';
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
