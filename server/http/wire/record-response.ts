import { type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse, STATUS_CODES } from 'node:http';
import { ERRORS, isErrorCode } from '../../../contract/errors/catalogue.ts';
import { ERROR_TYPES } from '../../../contract/errors/record.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { maskPath } from '../../foundation/redaction.ts';
import { documentOf, PAGE_HEADERS } from '../../pages/page-layout.ts';
import { notFoundPage, prefersPage } from '../../pages/page-response.ts';
import { signInErrorPage } from '../../pages/sign-in-pages.ts';
import type { RequestContext } from '../request-context.ts';
import type { HttpService } from '../service.ts';
import { isStray } from '../stray-requests.ts';
import { type ErrorResponse, type HeaderList, JSON_TYPE } from './error-response.ts';

// Invariant: Every response of 400 or above is the error record. The exception is the HTML page for a browser, at an unknown path
//   outside the API or at a path of sign-in
// Kept by: this file
// Tested by: `test/http`, `test/pages/pages.test.ts`

/** Maximum number of bytes of an error's body that are inspected. A record is far smaller. */
const MAX_HELD_BYTES = 65_536;

/** Headers that are kept when a response is replaced, because they concern the connection. */
const KEPT = new Set(['connection', 'keep-alive']);

type Heads = OutgoingHttpHeaders | OutgoingHttpHeader[];
type Callback = (error?: Error | null) => void;

/**
 * Ensures that every response with a status of 400 or above is an error record (specification, section 2.1), no matter where it
 * came from. Node itself sends an empty 400, 417 or 503 for some requests, and the server sends an empty 500 after an unexpected
 * error. The head and body of such a response are held back until its end. They are replaced unless they are the record of a
 * known code with the right status and type. Responses below 400 are sent unchanged. At an unknown path, or if its sign-in is
 * refused, a browser gets an HTML page with the headers of the record.
 */
export class ErrorRecordResponse extends ServerResponse {
  /** The request of this response. Undefined before the service has read it. */
  context: RequestContext | undefined = undefined;
  /** The HTML page that a browser gets instead of a valid record, at an unknown path or a path of sign-in. */
  page: ErrorPage | undefined = undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #isReleased = false;

  /**
   * Returns the replacement for a response that has this status but is not an error record. The server overrides this.
   */
  protected substitute(_status: number): ErrorResponse | undefined {
    return undefined;
  }

  /** Returns the headers for a response that was not written by an operation route. */
  protected defaultHeaders(): readonly (readonly [string, string])[] {
    return [];
  }

  get #isHeldBack(): boolean {
    return this.statusCode >= 400 && !this.#isReleased && !this.headersSent;
  }

  override writeHead(statusCode: number, first?: string | Heads, second?: Heads): this {
    const isError = statusCode >= 400 && statusCode <= 999;
    if (isError && !this.#isReleased && !this.headersSent) {
      this.statusCode = statusCode;
      this.#holdHead(typeof first === 'string' ? second : first);
      return this;
    }
    if (!isError && this.context?.responded === false) this.#addDefaultHeaders();
    return typeof first === 'string' ? super.writeHead(statusCode, first, second) : super.writeHead(statusCode, first);
  }

  override write(chunk: unknown, encoding?: BufferEncoding | Callback, callback?: Callback): boolean {
    const done = typeof encoding === 'function' ? encoding : callback;
    const charset = typeof encoding === 'string' ? encoding : 'utf8';
    if (!this.#isHeldBack) return super.write(chunk, charset, done ?? (() => undefined));
    this.#hold(chunk, charset);
    if (done !== undefined) process.nextTick(done);
    return true;
  }

  override end(chunk?: unknown, encoding?: BufferEncoding | (() => void), callback?: () => void): this {
    const last = typeof chunk === 'function' ? undefined : chunk;
    const charset = typeof encoding === 'string' ? encoding : 'utf8';
    const whenDone = isCallback(chunk) ? chunk : isCallback(encoding) ? encoding : callback;
    if (!this.#isHeldBack) return super.end(last ?? undefined, charset, whenDone);
    if (last !== undefined && last !== null) this.#hold(last, charset);
    return super.end(this.#release(), 'utf8', whenDone);
  }

  override flushHeaders(): void {
    if (!this.#isHeldBack) super.flushHeaders();
  }

  #hold(chunk: unknown, encoding: BufferEncoding): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
    if (!(bytes instanceof Uint8Array) || this.#heldBytes > MAX_HELD_BYTES) return;
    this.#held.push(Buffer.from(bytes));
    this.#heldBytes += bytes.length;
  }

  #holdHead(heads: Heads | undefined): void {
    this.#held = [];
    this.#heldBytes = 0;
    if (heads === undefined) return;
    const list: readonly unknown[] = Array.isArray(heads) ? heads.flat() : Object.entries(heads).flat();
    for (let at = 0; at + 1 < list.length; at += 2) {
      this.#set(String(list[at]), list[at + 1]);
    }
  }

  #set(name: string, value: unknown): void {
    try {
      if (Array.isArray(value)) this.setHeader(name, value.map(String));
      else if (value !== undefined && value !== null) this.setHeader(name, String(value));
    } catch {
      // If a header cannot be sent, the record is sent without it.
    }
  }

  #substitute(): ErrorResponse | undefined {
    try {
      return this.substitute(this.statusCode);
    } catch {
      return undefined;
    }
  }

  #addDefaultHeaders(): void {
    for (const [name, value] of this.defaultHeaders()) if (!this.hasHeader(name)) this.setHeader(name, value);
  }

  /** Decides what to send, writes the head and returns the body. */
  #release(): string {
    const body = Buffer.concat(this.#held).toString();
    this.#held = [];
    const code = codeOfRecord(body, this.statusCode);
    const errorResponse = code === undefined ? this.#substitute() : undefined;
    const text = code === undefined ? (errorResponse?.body ?? LAST_RESORT) : body;
    if (code === undefined) {
      for (const name of this.getHeaderNames()) if (!KEPT.has(name)) this.removeHeader(name);
      for (const [name, value] of errorResponse?.headers ?? []) this.#set(name, value);
      this.statusCode = errorResponse?.status ?? 500;
    }
    for (const name of ['transfer-encoding', 'content-encoding', 'trailer']) this.removeHeader(name);
    // For this code, the ETag is the current version of the record.
    if (code !== 'precondition_failed') this.removeHeader('etag');
    const page = code === undefined ? undefined : this.page;
    for (const [name, value] of page?.headers ?? []) this.#set(name, value);
    const sent = page?.body ?? text;
    this.setHeader('Content-Type', page?.type ?? JSON_TYPE);
    this.setHeader('Content-Length', Buffer.byteLength(sent));
    this.setHeader('Error-Code', code ?? errorResponse?.record.Code ?? 'unknown_request');
    this.#addDefaultHeaders();
    this.statusMessage = STATUS_CODES[this.statusCode] ?? 'Error';
    this.#isReleased = true;
    super.writeHead(this.statusCode);
    return sent;
  }
}

const LAST_RESORT = JSON.stringify({
  Message: 'The request could not be processed. Please contact support.',
  Status: 500,
  Code: 'unknown_request',
  Type: 'Server Error',
});

/** Returns the code of a body that is exactly an error record with this status. Undefined for any other body. */
export function codeOfRecord(body: string, status: number): string | undefined {
  if (!body.startsWith('{"Message":"')) return undefined;
  let record: unknown;
  try {
    record = parseJson(body);
  } catch {
    return undefined;
  }
  if (typeof record !== 'object' || record === null) return undefined;
  const [message, ofStatus, code, type, ...more] = Object.entries(record);
  if (message?.[0] !== 'Message' || typeof message[1] !== 'string' || message[1] === '') return undefined;
  if (ofStatus?.[0] !== 'Status' || ofStatus[1] !== status) return undefined;
  if (code?.[0] !== 'Code' || typeof code[1] !== 'string') return undefined;
  if (type?.[0] !== 'Type' || !ERROR_TYPES.some((name) => name === type[1]) || more.length > 0) return undefined;
  const name = code[1];
  const entry = isErrorCode(name) ? ERRORS[name] : undefined;
  const isOfCatalogue = entry !== undefined && entry.status === status && entry.type === type[1];
  return isOfCatalogue && JSON.stringify(record) === body ? name : undefined;
}

function isCallback(value: unknown): value is () => void {
  return typeof value === 'function';
}

export function contextOf(response: ServerResponse): RequestContext {
  if (response instanceof ErrorRecordResponse && response.context !== undefined) return response.context;
  throw new TypeError('The response does not belong to a request of this server.');
}

type ErrorPage = { readonly type: string; readonly body: string; readonly headers: HeaderList };

const MAX_PATH_LENGTH = 200;

/** Paths of data files. For these, browsers get the record too. */
const DATA = /\.(?:json|md)$/;

/** Returns whether a browser opens this path during a sign-in. */
function isOfSignIn({ pattern }: RequestContext): boolean {
  return pattern === '/console/sign-in' || pattern === '/console/sign-in/callback' || pattern === '/console/signed-out';
}

/**
 * Returns whether the Accept header decides between the record and a page. It does for a stray GET or HEAD of an unknown path, and
 * for sign-in.
 */
export function mayHaveErrorPage(context: RequestContext, thrown: unknown): boolean {
  const { method } = context.request;
  const isRead = method === 'GET' || method === 'HEAD';
  if (isOfSignIn(context)) return isRead;
  const isUnknown = thrown instanceof Refusal && thrown.code === 'route_not_found';
  return isUnknown && isRead && isStray(context, 'route_not_found') && !DATA.test(context.path);
}

/** Returns whether the request gets the page: if it prefers HTML, and its address is within its rate limit. */
export function wantsErrorPage({ request, addressLimitRefusal }: RequestContext): boolean {
  return addressLimitRefusal === undefined && prefersPage(request.headers.accept);
}

export function errorPage(
  { version, supportContact, gateway }: HttpService,
  context: RequestContext,
  { record }: ErrorResponse,
): ErrorPage {
  const page = isOfSignIn(context)
    ? signInErrorPage(record, context.wireId, supportContact)
    : notFoundPage(maskPath(context.path).slice(0, MAX_PATH_LENGTH), record.Message);
  const body = documentOf(page, { version, mode: gateway.mode, supportContact });
  return { type: 'text/html; charset=utf-8', body, headers: PAGE_HEADERS };
}
