import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeIdleConnection, timeOutRequest } from './admission/timeouts.ts';
import type { HttpService } from './service.ts';
import { respondToConnect, respondToParserError } from './wire/node-errors.ts';
import type { ErrorRecordResponse } from './wire/record-response.ts';

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
    maxHeaderSize: settings.maxHeadBytes,
    headersTimeout: settings.headTimeoutMilliseconds,
    requestTimeout: settings.requestTimeoutMilliseconds,
    connectionsCheckingInterval: settings.timeoutCheckIntervalMilliseconds,
    keepAliveTimeout: settings.keepAliveTimeoutMilliseconds,
    // Asked for with the other headers, so that the answer says what is missing.
    requireHostHeader: false,
  });
  // Node drops headers beyond its count without a word; here they are all seen, counted and refused.
  server.maxHeadersCount = 0;
  server.maxRequestsPerSocket = settings.maxRequestsPerConnection;
  // A caller that closes its side after the request still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (socket) => service.connections.add(socket, settings.lingerMilliseconds));
  server.on('request', (request, answer) => begin(request, answer, false));
  server.on('checkContinue', (request, answer) => begin(request, answer, true));
  server.on('checkExpectation', (request, answer) => begin(request, answer, false));
  server.on('clientError', (error, socket) => {
    if ((error as NodeJS.ErrnoException).code === 'ERR_HTTP_REQUEST_TIMEOUT') timeOutRequest(service, error, socket);
    else respondToParserError(service, error, socket);
  });
  // With a listener, Node leaves it to us to close a connection that has been idle for `keepAliveTimeoutMilliseconds`.
  server.on('timeout', (socket) => closeIdleConnection(service, socket));
  server.on('connect', (request, socket) => respondToConnect(service, request, socket));
  return server;
}

/**
 * Connections that may wait to be accepted, where the kernel lets as many: Node takes one in each turn of its loop, and a
 * caller beyond Node's own 511 would have to try again after a second, three, seven.
 */
const ACCEPT_BACKLOG = 4_096;

/** Listens on one address. Rejects with the error as Node gives it, such as EADDRINUSE. */
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

/** Whether a machine simply does not have an address. */
export function isMissingAddress(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT';
}
