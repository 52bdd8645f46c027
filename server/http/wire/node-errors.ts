import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '../../../domain/errors.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { newId } from '../../ids.ts';
import type { Connection } from '../admission/connection.ts';
import type { HttpService } from '../service.ts';
import { composeBareResponse, type HeaderList, reportError } from './error-response.ts';

type ParserError = Error & { readonly code?: string; readonly reason?: string; readonly rawPacket?: Buffer };

/** What Node's parser reports by code, in the caller's words; anything else is simply not HTTP/1.1. */
const FAULTS: Readonly<Record<string, readonly [code: ErrorCode, message: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The request line and the headers are larger than they may be.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['payload_too_large', 'The extensions of the chunks are larger than they may be.'],
  HPE_INVALID_METHOD: ['malformed_request', 'The request does not begin with a method of HTTP.'],
  HPE_INVALID_VERSION: ['malformed_request', 'The request line does not end in HTTP/1.1 or HTTP/1.0.'],
  HPE_INVALID_CONSTANT: ['malformed_request', 'The request line is not one of HTTP/1.1.'],
  HPE_INVALID_URL: ['malformed_request', 'The path holds a character that must be escaped.'],
  HPE_INVALID_HEADER_TOKEN: ['malformed_request', 'A header holds a character that is not allowed there.'],
  HPE_INVALID_CONTENT_LENGTH: ['malformed_request', 'The Content-Length is not a whole number.'],
  HPE_UNEXPECTED_CONTENT_LENGTH: ['malformed_request', 'The request has more than one Content-Length header.'],
  HPE_INVALID_TRANSFER_ENCODING: ['malformed_request', "The Transfer-Encoding must have 'chunked' once, at its end."],
  HPE_INVALID_CHUNK_SIZE: ['malformed_request', 'The size of a chunk of the body is not a hexadecimal number.'],
  HPE_INVALID_EOF_STATE: ['malformed_request', 'The connection ended before the whole request was there.'],
  HPE_CLOSED_CONNECTION: ['malformed_request', "There is more after a request with 'Connection: close'."],
};

/**
 * Answers what Node's parser could not read (`clientError`). Answers that are still pendingRecord on the connection go first:
 * a fault in the body of the last request is that request's answer; a fault behind it is answered after it.
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
    connection.pendingRecord = () => writeRecord(service, connection, refusal);
    latest?.response.once('close', () => connection.pendingRecord?.());
  }
}

function refusalOf(error: ParserError): Refusal {
  const start = error.rawPacket?.subarray(0, 5).toString('latin1') ?? '';
  if (start.startsWith('\x16\x03')) {
    return new Refusal('malformed_request', 'This port speaks HTTP, and the request is TLS. Use http:// to call it.');
  }
  if (start.startsWith('PRI *')) {
    return new Refusal('malformed_request', 'This port speaks HTTP/1.1, and the request is HTTP/2.');
  }
  // The code names whichever of the two headers came last; only the reason tells that there are both.
  if (error.reason?.includes("can't be present with") === true) {
    const message =
      'The request has both a Content-Length and a Transfer-Encoding (chunked) header. Send only one of them: ' +
      'with both, two servers can disagree about where the body ends.';
    return new Refusal('malformed_request', message);
  }
  const [code, message] = FAULTS[error.code ?? ''] ?? ['malformed_request', 'The request is not valid HTTP/1.1.'];
  return new Refusal(code, message);
}

/** Writes a record to a connection on which no response is under way, and ends it. */
export function writeRecord(service: HttpService, connection: Connection, thrown: unknown, allow?: string): void {
  const { socket } = connection;
  if (!socket.writable || connection.ended) return;
  connection.pendingRecord = undefined;
  const answer = composeBareResponse(thrown, newId(), service, allow);
  reportError(service, answer.report);
  socket.write(rawResponse(answer.status, answer.headers, answer.body));
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

/** Answers CONNECT, for which Node gives the bare socket away: the service is no proxy. */
export function respondToConnect(service: HttpService, _request: IncomingMessage, socket: Duplex): void {
  const connection = service.connections.of(socket);
  if (connection === undefined) {
    socket.destroy();
    return;
  }
  socket.on('error', () => socket.destroy());
  socket.resume();
  const allow = service.routes.allMethods().join(', ');
  const refusal = new Refusal('method_not_allowed', 'The service is no proxy: CONNECT cannot be used.');
  if (connection.busy)
    connection.latest?.response.once('close', () => writeRecord(service, connection, refusal, allow));
  else writeRecord(service, connection, refusal, allow);
}
