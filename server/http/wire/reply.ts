import type { OutgoingHttpHeader, ServerResponse } from 'node:http';
import {
  movesMoney,
  OPERATION_IDS,
  OPERATIONS,
  type OperationId,
  saysIfMoneyMoved,
} from '../../../contract/operations.ts';
import { type VersionedKind, versionedKind } from '../../../contract/reading/versions.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import {
  type AcceptedReply,
  type AnyReply,
  CallerGone,
  type CsvExport,
  type JsonReply,
  type LiveReply,
} from '../../calls/call.ts';
import { versionOf } from '../../calls/version.ts';
import { checkCallerAgain } from '../admission/caller.ts';
import { sessionCookie } from '../admission/session-cookie.ts';
import { NoResponseError, withTimeout } from '../admission/timeouts.ts';
import type { RequestContext } from '../request-context.ts';
import type { HttpService } from '../service.ts';
import { discardBody } from './body.ts';
import {
  composeErrorResponse,
  contextHeaders,
  headerSafe,
  JSON_TYPE,
  reportError,
  reportRow,
} from './error-response.ts';
import { noteResponse } from './note-response.ts';
import { ErrorRecordResponse, errorPage, mayHaveErrorPage, wantsErrorPage } from './record-response.ts';

const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

/** Sends the reply of an operation. Returns a promise only if it has to wait. */
export function sendReply(
  service: HttpService,
  context: RequestContext,
  id: OperationId,
  reply: Exclude<AnyReply, LiveReply>,
): Promise<void> | undefined {
  if ('csv' in reply) return sendCsv(service, context, reply.csv);
  const { status, body, location, etag } = writeReply(id, reply);
  const headers: OutgoingHttpHeader[] = [];
  if (location !== undefined) headers.push('Location', location);
  if (etag !== undefined) headers.push('ETag', etag);
  if ('approvalId' in reply) headers.push('Location', `${OPERATIONS.list_approvals.path}/${reply.approvalId}`);
  // Every reply of an operation that moves money says whether it did. A dry run moves no money.
  if (saysIfMoneyMoved(id)) headers.push('Money-Moved', movesMoney(id) ? (reply.moneyMoved ?? 'unknown') : 'no');
  if (reply.preferenceApplied !== undefined) headers.push('Preference-Applied', reply.preferenceApplied);
  if ('replayed' in reply && reply.replayed === true) headers.push('Idempotent-Replayed', 'true');
  if ('originalRequestId' in reply && reply.originalRequestId !== undefined)
    headers.push('Original-Request-Id', reply.originalRequestId);
  if ('sessionToken' in reply) {
    context.setCookie = sessionCookie(context, service.settings.trustedProxies, reply.sessionToken);
  }
  if ('refusedRow' in reply && reply.refusedRow !== undefined) {
    const report = reportRow(reply.refusedRow, context, service);
    // For the whole batch, only 'unknown' can be reported: even if this row moved no money, others may have.
    context.refusedRow = { code: report.code, moneyMoved: report.moneyMoved === 'unknown' ? 'unknown' : undefined };
    reportError(service, report);
  }
  return sendBody(service, context, { status, type: JSON_TYPE, body, headers });
}

export type WrittenReply = {
  readonly status: 200 | 201 | 202;
  readonly body: string;
  readonly location: string | undefined;
  /** The version of the record. Undefined if the operation's reply has none. */
  readonly etag: string | undefined;
  readonly replayed: boolean | undefined;
};

/** A request that is waiting for an approval has been accepted, but has changed nothing yet. */
const WAITS = { status: 202, location: undefined, etag: undefined } as const;

/**
 * Takes the status, `Location` and `ETag` from the definition. Writes the record as JSON, unless the reply already
 * contains its text.
 */
export function writeReply(id: OperationId, reply: JsonReply<unknown> | AcceptedReply): WrittenReply {
  if ('approvalId' in reply) return { ...WAITS, body: reply.json, replayed: reply.replayed };
  const status = 'existing' in reply && reply.existing === true ? 200 : OPERATIONS[id].status;
  const locationOf = LOCATIONS.get(id);
  const kind = OPERATIONS[id].method === 'DELETE' ? undefined : versionedKind(id);
  const body = reply.json ?? JSON.stringify('record' in reply ? reply.record : undefined);
  if (typeof body !== 'string') throw new TypeError('The operation did not return a reply.');
  const needsRecord = locationOf !== undefined || kind !== undefined;
  const record = 'record' in reply ? reply.record : needsRecord ? parseJson(body) : undefined;
  return {
    status,
    body,
    location: locationOf?.(record),
    etag: kind === undefined ? undefined : etagOf(kind, Object(record)),
    replayed: 'replayed' in reply ? reply.replayed : undefined,
  };
}

/** Returns the version of a record. If it cannot be computed, the reply is still a success, because the operation took effect. */
function etagOf(kind: VersionedKind, record: object): string | undefined {
  try {
    return versionOf(kind, record);
  } catch {
    return undefined;
  }
}

/** Functions that create `Location` from the record, by operation. For any id, the result is visible ASCII and never shortened. */
const LOCATIONS = new Map(
  OPERATION_IDS.flatMap((id) => {
    const { location } = OPERATIONS[id];
    const [, before = '', name, after = ''] = /^(.*)\{([a-z_]+)\}(.*)$/.exec(location ?? '') ?? [];
    if (name === undefined) return [];
    const fieldOf = (record: unknown): string => encodeURIComponent(String(Reflect.get(Object(record), name)));
    return [[id, (record: unknown): string => `${before}${fieldOf(record)}${after}`] as const];
  }),
);

export type WholeBody = {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
  readonly headers: readonly OutgoingHttpHeader[];
};

/** Sends a success with a complete body. Returns a promise only if the rest of the request must be discarded first. */
export function sendBody(service: HttpService, context: RequestContext, whole: WholeBody): Promise<void> | undefined {
  if (context.request.complete) {
    sendWhole(service, context, whole);
    return undefined;
  }
  return discardBody(context, service.settings).then(() => sendWhole(service, context, whole));
}

function sendWhole(service: HttpService, context: RequestContext, whole: WholeBody): void {
  if (context.responded) return;
  const { status, type, body, headers } = whole;
  const bytes = Buffer.byteLength(body);
  writeHead(service, context, status, ['Content-Type', type, 'Content-Length', String(bytes), ...headers]);
  // If a body has one byte per character, it is ASCII. Node can copy it instead of encoding it.
  if (bytes === body.length) context.response.end(body, 'latin1');
  else context.response.end(body);
  noteResponse(service, context, status);
}

/** Writes the head of a success. From now on, the request has a response. */
export function writeHead(
  service: HttpService,
  context: RequestContext,
  status: number,
  own: readonly OutgoingHttpHeader[],
  cacheControl = 'no-store',
): void {
  if (service.isClosing) context.mustClose = true;
  const headers: OutgoingHttpHeader[] = [
    ...own,
    'Request-Id',
    context.wireId,
    'Cache-Control',
    cacheControl,
    'X-Content-Type-Options',
    'nosniff',
  ];
  for (const [name, value] of contextHeaders(context)) headers.push(name, value);
  context.responded = true;
  context.response.writeHead(status, headers);
}

/**
 * Sends an export in chunks while it is read. The last chunk marks an export as complete, so only a complete export gets it. If
 * reading fails, the caller stalls or the service closes, the connection ends without the last chunk. The error log has the reason
 * under the request id.
 */
async function sendCsv(service: HttpService, context: RequestContext, csv: CsvExport): Promise<void> {
  const { request, response } = context;
  if (!request.complete) await discardBody(context, service.settings);
  if (context.responded) return;
  const disposition = `attachment; filename="${headerSafe(csv.fileName)}"`;
  writeHead(service, context, 200, ['Content-Type', CSV_TYPE, 'Content-Disposition', disposition]);
  try {
    if (request.method !== 'HEAD') await streamText(service, context, csv.first, csv.rest);
    // If the caller has disconnected, there is no response to end.
    if (!response.destroyed) response.end();
    noteResponse(service, context, 200);
  } catch (thrown) {
    if (thrown instanceof CallerGone && response.destroyed) return;
    // Everything written so far is still sent, with the request id in the head. Then the connection ends without the last chunk.
    context.connection.end(service.settings.lingerMilliseconds);
    const errorResponse = composeErrorResponse(thrown, context, service);
    reportError(service, errorResponse.report);
    noteResponse(service, context, 200, errorResponse.report);
  }
}

/** Responds with the error record for any thrown value. Never throws or rejects. */
export async function sendError(service: HttpService, context: RequestContext, thrown: unknown): Promise<void> {
  try {
    context.operation ??= service.routes.operationOf(context.request.method ?? '', context.path);
    await discardBody(context, service.settings);
    if (context.responded || (thrown instanceof CallerGone && isClosed(context))) return;
    if (service.isClosing) context.mustClose = true;
    context.responded = true;
    const varies = mayHaveErrorPage(context, thrown);
    const isPage = varies && wantsErrorPage(context);
    if (isPage) service.limits.chargePage(context, false);
    const errorResponse = composeErrorResponse(thrown, context, service);
    reportError(service, errorResponse.report);
    const headers = [...errorResponse.headers];
    if (varies) headers.push(['Vary', 'Accept']);
    if (isPage && context.response instanceof ErrorRecordResponse) {
      context.response.page = errorPage(service, context, errorResponse);
    }
    context.response.writeHead(errorResponse.status, headers.flat());
    context.response.end(errorResponse.body);
    noteResponse(service, context, errorResponse.status, errorResponse.report);
  } catch {
    lastResort(context);
  }
}

function isClosed({ request, response }: RequestContext): boolean {
  return response.destroyed || !request.complete;
}

/** Sends a fixed record, or closes the connection, if the error record could not be composed. */
function lastResort(context: RequestContext): void {
  const { response } = context;
  context.responded = true;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.statusCode = 500;
  response.end();
}

/**
 * Writes pieces of text as fast as the caller reads them. Each piece is loaded after the previous one was sent, so only one is in
 * memory. Ends after the last piece, or when the caller disconnects. Throws the errors of `rest`, and the refusal of a key that has
 * become invalid. Throws NoResponseError if a piece is not loaded or read in time, or if the service closes.
 */
async function streamText(
  service: HttpService,
  context: RequestContext,
  first: string,
  rest: AsyncIterator<string, void, undefined>,
): Promise<void> {
  const { settings } = service;
  const { response } = context;
  try {
    for (let piece = first; ; ) {
      if (piece !== '' && !response.write(piece) && !response.destroyed) await waitUntilDrained(service, context);
      if (response.destroyed) return;
      const next = await withTimeout(
        context,
        settings.operationTimeoutMilliseconds + settings.operationGraceMilliseconds,
        nextPiece(service, context, rest),
      );
      if (next.done === true) return;
      piece = next.value;
    }
  } finally {
    // A load in progress may finish, but its result is discarded.
    void rest.return?.().catch(() => undefined);
  }
}

/** Loads the next piece and checks the key before the piece is sent. */
async function nextPiece(
  service: HttpService,
  context: RequestContext,
  rest: AsyncIterator<string, void, undefined>,
): Promise<IteratorResult<string, void>> {
  const next = await rest.next();
  if (next.done !== true) await checkCallerAgain(service, context);
  return next;
}

async function waitUntilDrained(service: HttpService, context: RequestContext): Promise<void> {
  const { readTimeoutMilliseconds } = service.settings;
  try {
    await withTimeout(context, readTimeoutMilliseconds, drained(context.response));
  } catch (thrown) {
    if (service.isClosing) throw thrown;
    throw new NoResponseError(`The caller did not read the export for ${readTimeoutMilliseconds} ms.`);
  }
}

/** Resolves when everything written has been sent, or when the connection closes. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

/**
 * A page or file that is the same for all callers: plain, compressed with gzip, and for some also with brotli.
 * Fonts are only plain.
 */
type Representation = {
  readonly type: string;
  readonly bytes: Buffer;
  readonly compressed: Buffer | undefined;
  /** Returns the bytes compressed with brotli, or undefined if they are only sent with gzip. */
  readonly brotli?: () => Promise<Buffer | undefined>;
  /** The entity tag of the plain bytes, in quotation marks. The tags of the compressed bytes are derived from it. */
  readonly tag: string;
};

type Coding = 'gzip' | 'br';

type RepresentationHeaders = {
  readonly headers: readonly string[];
  readonly cacheControl: string;
  /** The request headers that influence the content, in addition to Accept-Encoding. */
  readonly vary?: readonly string[];
};

/**
 * Responds to GET or HEAD. Compresses the response if the request accepts gzip, or brotli if the representation has it. Sends a 304
 * if the request has the entity tag. Plain and compressed bytes have different tags, as HTTP requires of strong tags (RFC 9110,
 * 8.8.1). A request with any of these tags gets the 304.
 */
export async function sendRepresentation(
  service: HttpService,
  context: RequestContext,
  { type, bytes, compressed, brotli, tag }: Representation,
  { headers, cacheControl, vary = [] }: RepresentationHeaders,
): Promise<void> {
  if (!context.request.complete) await discardBody(context, service.settings);
  const asked = context.request.headers;
  const codings = String(asked['accept-encoding'] ?? '');
  const best = accepts(codings, 'br') ? await brotli?.() : undefined;
  if (context.responded) return;
  const zipped = accepts(codings, 'gzip') ? compressed : undefined;
  const coding: Coding | undefined = best ? 'br' : zipped && 'gzip';
  const sent = best ?? zipped ?? bytes;
  const tagOf = (name: Coding | undefined) => (name === undefined ? tag : `${tag.slice(0, -1)}-${name}"`);
  const known = (asked['if-none-match'] ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''));
  const isKnown = [tag, tagOf('gzip'), tagOf('br'), '*'].some((own) => known.includes(own));
  const own = ['ETag', tagOf(coding), 'Vary', [...vary, 'Accept-Encoding'].join(', '), ...headers];
  if (!isKnown) {
    own.push('Content-Type', type, 'Content-Length', String(sent.length));
    if (coding !== undefined) own.push('Content-Encoding', coding);
  }
  const status = isKnown ? 304 : 200;
  writeHead(service, context, status, own, cacheControl);
  context.response.end(isKnown ? undefined : sent);
  noteResponse(service, context, status);
}

/** Returns whether an Accept-Encoding header names the coding with a weight other than 0. */
function accepts(header: string, coding: Coding): boolean {
  const ranges = header.toLowerCase().split(',');
  return ranges.some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim());
    return name === coding && !parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter));
  });
}
