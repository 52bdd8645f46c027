import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '../../../contract/operations.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { newId } from '../../foundation/ids.ts';
import type { Connection } from '../admission/connection.ts';
import type { HttpService } from '../service.ts';
import { composeBareResponse, type HeaderList, reportError } from './error-response.ts';
import { noteBare } from './note-response.ts';

type ParserError = Error & { readonly code?: string; readonly reason?: string; readonly rawPacket?: Buffer };

/** The errors of Node's parser, by code. All other codes are reported as invalid HTTP/1.1. */
const FAULTS: Readonly<Record<string, readonly [code: ErrorCode, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The request line and the headers are too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['payload_too_large', 'The chunk extensions of the body are too large.'],
  HPE_INVALID_METHOD: ['malformed_request', 'The request does not begin with an HTTP method.'],
  HPE_INVALID_VERSION: ['malformed_request', 'The request line does not end in HTTP/1.1 or HTTP/1.0.'],
  HPE_INVALID_CONSTANT: ['malformed_request', 'The request line is not valid HTTP/1.1.'],
  HPE_INVALID_URL: ['malformed_request', 'The path contains a character that must be percent-encoded.'],
  HPE_INVALID_HEADER_TOKEN: ['malformed_request', 'A header contains a character that is not allowed.'],
  HPE_INVALID_CONTENT_LENGTH: ['malformed_request', 'The Content-Length is not a whole number.'],
  HPE_UNEXPECTED_CONTENT_LENGTH: ['malformed_request', 'The request has more than one Content-Length header.'],
  HPE_INVALID_TRANSFER_ENCODING: [
    'malformed_request',
    "The Transfer-Encoding must contain 'chunked' once, as its last value.",
  ],
  HPE_INVALID_CHUNK_SIZE: ['malformed_request', 'A chunk size in the body is not a hexadecimal number.'],
  HPE_INVALID_EOF_STATE: ['malformed_request', 'The connection ended before the whole request arrived.'],
  HPE_CLOSED_CONNECTION: [
    'malformed_request',
    "The connection has more data after a request with 'Connection: close'.",
  ],
};

/**
 * Responds to input that Node's parser rejects (`clientError`), after the pending responses of the connection. If the error is in
 * the body of the last request, it becomes the response to that request. Later errors get a separate response.
 */
export function respondToParserError(service: HttpService, error: ParserError, socket: Duplex): void {
  const connection = service.connections.of(socket);
  if (connection === undefined || error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (connection.fault !== undefined || connection.ended) return;
  const refusal = refusalOf(error);
  const { latest } = connection;
  const isInBody = latest !== undefined && !latest.request.complete;
  connection.fault = { refusal, request: isInBody ? latest.request : undefined };
  if (!connection.busy) {
    if (isInBody) connection.end(service.settings.lingerMilliseconds);
    else writeRecord(service, connection, refusal);
  } else if (isInBody) {
    connection.onFault?.(refusal);
  } else {
    connection.writePendingRecord = () => writeRecord(service, connection, refusal);
    latest?.response.once('close', () => connection.writePendingRecord?.());
  }
}

function refusalOf(error: ParserError): Refusal {
  const start = error.rawPacket?.subarray(0, 5).toString('latin1') ?? '';
  if (start.startsWith('\x16\x03')) {
    return new Refusal('malformed_request', 'This port serves HTTP, but the request is TLS. Use an http:// URL.');
  }
  if (start.startsWith('PRI *')) {
    return new Refusal('malformed_request', 'This port serves HTTP/1.1, but the request is HTTP/2.');
  }
  // The parser's error code depends on the order of the two headers. Only its reason shows that both are present.
  if (error.reason?.includes("can't be present with") === true) {
    const message =
      'The request has both a Content-Length and a Transfer-Encoding (chunked) header. Send only one: ' +
      'with both, two servers can disagree about where the body ends.';
    return new Refusal('malformed_request', message);
  }
  const [code, message] = FAULTS[error.code ?? ''] ?? ['malformed_request', 'The request is not valid HTTP/1.1.'];
  return new Refusal(code, message);
}

/** If no response is in progress, writes an error record directly to the socket, and ends the connection. */
export function writeRecord(service: HttpService, connection: Connection, thrown: unknown, allow?: string): void {
  const { socket } = connection;
  if (!socket.writable || connection.ended) return;
  connection.writePendingRecord = undefined;
  const requestId = newId();
  const errorResponse = composeBareResponse(thrown, requestId, service, allow);
  reportError(service, errorResponse.report);
  noteBare(service, requestId, errorResponse.report);
  socket.write(rawResponse(errorResponse.status, errorResponse.headers, errorResponse.body));
  connection.end(service.settings.lingerMilliseconds);
}

function rawResponse(status: number, headers: HeaderList, body: string): string {
  const own: HeaderList = [
    ['Content-Length', String(Buffer.byteLength(body))],
    ['Connection', 'close'],
    ['Date', new Date().toUTCString()],
  ];
  const lines = [...headers, ...own].map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\n${lines.join('')}\r\n${body}`;
}

/** Refuses CONNECT. For this method, Node passes the socket without a response object. */
export function respondToConnect(service: HttpService, _request: IncomingMessage, socket: Duplex): void {
  const connection = service.connections.of(socket);
  if (connection === undefined) {
    socket.destroy();
    return;
  }
  socket.on('error', () => socket.destroy());
  socket.resume();
  const allow = service.routes.allMethods().join(', ');
  const refusal = new Refusal('method_not_allowed', 'The service is not a proxy: CONNECT is not supported.');
  if (connection.busy)
    connection.latest?.response.once('close', () => writeRecord(service, connection, refusal, allow));
  else writeRecord(service, connection, refusal, allow);
}

/** The error responses of Node itself, by status. */
const BY_STATUS: ReadonlyMap<number, readonly [code: ErrorCode, message: string]> = new Map([
  [400, ['malformed_request', 'The request is not valid HTTP/1.1.']],
  [401, ['unauthenticated', 'The request has no valid API key.']],
  [403, ['forbidden', 'The request is not allowed.']],
  [404, ['route_not_found', 'There is no route at this path.']],
  [408, ['request_timeout', 'The request did not arrive in time.']],
  [413, ['payload_too_large', 'The body is too large.']],
  [414, ['uri_too_long', 'The path is too long.']],
  [415, ['unsupported_media_type', "The Content-Type must be 'application/json'."]],
  [417, ['expectation_failed', "The Expect header can only be '100-continue'."]],
  [431, ['headers_too_large', 'The headers are too large.']],
  [503, ['service_unavailable', 'The service does not accept more requests on this connection.']],
]);

/** Returns the error that replaces a response with `status` if that is not an error record. */
export function substituteFor(status: number): unknown {
  const known = BY_STATUS.get(status);
  if (known !== undefined) return new Refusal(known[0], known[1]);
  if (status < 500) return new Refusal('malformed_request', 'The request is not valid.');
  return new Error(`A response with status ${status} was not an error record.`);
}
