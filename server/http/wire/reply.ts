import type { OutgoingHttpHeader } from 'node:http';
import type { ErrorCode } from '../../../domain/errors.ts';
import type { CsvExport, Reply } from '../../operations/call.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpService } from '../service.ts';
import { CallerGone, discardBody } from './body.ts';
import { composeErrorAnswer, exchangeHeaders, headerSafe, JSON_TYPE, reportRow, tell } from './error-response.ts';
import { pour } from './stream.ts';

/** The media type of an export. */
const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

/** Sends the reply of an operation. */
export async function sendReply(service: HttpService, exchange: Exchange, reply: Reply): Promise<void> {
  const { status, body, location, replayed, csv } = reply;
  if (typeof body !== 'string' || (status !== 200 && status !== 201)) {
    throw new TypeError('The operation answered with something that is not a reply.');
  }
  if (csv !== undefined) return sendCsv(service, exchange, body, csv);
  const more: OutgoingHttpHeader[] = [];
  if (location !== undefined) more.push('Location', headerSafe(location));
  if (replayed === true) more.push('Idempotent-Replayed', 'true');
  if (reply.refusedRow !== undefined) tell(service, reportRow(reply.refusedRow, exchange, service));
  await send(service, exchange, status, body, more);
}

async function send(
  service: HttpService,
  exchange: Exchange,
  status: number,
  body: string,
  more: readonly OutgoingHttpHeader[],
): Promise<void> {
  if (!exchange.request.complete) await discardBody(exchange, service.settings);
  if (exchange.answered) return;
  const length = String(Buffer.byteLength(body));
  writeHead(service, exchange, status, ['Content-Type', JSON_TYPE, 'Content-Length', length, ...more]);
  exchange.response.end(body);
  writeLog(service, exchange, status, undefined);
}

/** Writes the head of a success; from here on the request counts as answered. */
function writeHead(service: HttpService, exchange: Exchange, status: number, own: readonly OutgoingHttpHeader[]): void {
  if (service.isClosing) exchange.mustClose = true;
  const headers: OutgoingHttpHeader[] = [
    ...own,
    'Request-Id',
    exchange.wireId,
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
  ];
  for (const [name, value] of exchangeHeaders(exchange)) headers.push(name, value);
  exchange.answered = true;
  exchange.response.writeHead(status, headers);
}

/**
 * Sends an export as it is read, in chunks. The last chunk, which says that all is there, is sent only when it is: when
 * reading fails, the caller stalls or the service closes, the connection is cut instead, and the error log has the reason
 * under the request id.
 */
async function sendCsv(service: HttpService, exchange: Exchange, first: string, csv: CsvExport): Promise<void> {
  const { request, response } = exchange;
  if (!request.complete) await discardBody(exchange, service.settings);
  if (exchange.answered) return;
  const disposition = `attachment; filename="${headerSafe(csv.fileName)}"`;
  writeHead(service, exchange, 200, ['Content-Type', CSV_TYPE, 'Content-Disposition', disposition]);
  try {
    if (request.method !== 'HEAD') await pour(service, exchange, first, csv.rest);
    // Where the caller has gone there is nothing to end.
    if (!response.destroyed) response.end();
    writeLog(service, exchange, 200, undefined);
  } catch (thrown) {
    // What has been written leaves, with the request id in it, and the connection ends without the last chunk.
    exchange.connection.end(service.settings.linger_ms);
    const answer = composeErrorAnswer(thrown, exchange, service);
    tell(service, answer.report);
    writeLog(service, exchange, 200, answer.record.Code);
  }
}

/** Answers with the record of anything that was thrown. Never throws and never rejects. */
export async function sendError(service: HttpService, exchange: Exchange, thrown: unknown): Promise<void> {
  try {
    exchange.operation ??= service.routes.operationOf(exchange.request.method ?? '', exchange.path);
    await discardBody(exchange, service.settings);
    if (exchange.answered || thrown instanceof CallerGone) return;
    if (service.isClosing) exchange.mustClose = true;
    exchange.answered = true;
    const answer = composeErrorAnswer(thrown, exchange, service);
    tell(service, answer.report);
    exchange.response.writeHead(answer.status, answer.headers.flat());
    exchange.response.end(answer.body);
    writeLog(service, exchange, answer.status, answer.record.Code);
  } catch {
    lastResort(exchange);
  }
}

/** An answer could not even be composed: the response itself puts a record there, or the connection is cut. */
function lastResort(exchange: Exchange): void {
  const { response } = exchange;
  exchange.answered = true;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.statusCode = 500;
  response.end();
}

function writeLog(service: HttpService, exchange: Exchange, status: number, code: ErrorCode | undefined): void {
  if (service.log === undefined) return;
  const entry = {
    requestId: exchange.requestId,
    method: exchange.request.method ?? '',
    path: exchange.pattern ?? '',
    status,
    code,
    duration_ms: Date.now() - exchange.startedAt,
  };
  try {
    service.log(entry);
  } catch {
    // A log that fails never fails the answer.
  }
}
