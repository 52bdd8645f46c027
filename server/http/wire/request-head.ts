import type { IncomingMessage } from 'node:http';
import type { JsonValue } from '../../../contract/reading/json.ts';
import { containsCardNumber } from '../../../domain/cards/card-number.ts';
import { maskedText } from '../../../domain/cards/masked-text.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';

/** The headers that the service reads. Each may be sent at most once unless stated otherwise. */
export type RequestHead = {
  readonly host: string | undefined;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly transferEncoding: string | undefined;
  readonly expect: string | undefined;
  readonly programId: string | undefined;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  readonly sandboxProvoke: string | undefined;
  readonly sandboxProcessor: string | undefined;
  /** All preferences. Several Prefer headers are joined. */
  readonly prefer: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly caseId: string | undefined;
  /** All versions that were sent. Several If-Match headers are joined. */
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly ifUnmodifiedSince: string | undefined;
  /** All cookies. Several Cookie headers are joined. */
  readonly cookie: string | undefined;
  /** The Console header, which pages of the console send. Repeated values are joined, so the result matches no valid value. */
  readonly console: string | undefined;
  /** Whether Idempotency-Key was sent more than once. Operations that use a key refuse this. */
  readonly idempotencyKeyTwice: boolean;
};

/**
 * The headers that are read and checked here. If one is repeated, Node itself would join the values or keep only the
 * first or last.
 */
const SINGLE = [
  'Host',
  'Authorization',
  'Content-Type',
  'Content-Encoding',
  'Transfer-Encoding',
  'Expect',
  'Program-Id',
  'Origin',
  'Sec-Fetch-Site',
  'Sandbox-Provoke',
  'Idempotency-Key',
  'Content-Length',
  'Content-Range',
  'Range',
  'Request-Id',
  'Cookie',
  'Console',
  'Sandbox-Processor',
  'Prefer',
  'Case-Id',
  'If-Match',
  'If-None-Match',
  'If-Unmodified-Since',
] as const;
const COOKIE = SINGLE.indexOf('Cookie');
const CONSOLE = SINGLE.indexOf('Console');
const SANDBOX_PROCESSOR = SINGLE.indexOf('Sandbox-Processor');
const PREFER = SINGLE.indexOf('Prefer');
const CASE_ID = SINGLE.indexOf('Case-Id');
const IF_MATCH = SINGLE.indexOf('If-Match');
const IF_NONE_MATCH = SINGLE.indexOf('If-None-Match');
const IF_UNMODIFIED_SINCE = SINGLE.indexOf('If-Unmodified-Since');
const IDEMPOTENCY_KEY = SINGLE.indexOf('Idempotency-Key');
const POSITIONS: ReadonlyMap<string, number> = new Map(
  SINGLE.flatMap((name, position) => [
    [name, position],
    [name.toLowerCase(), position],
  ]),
);
const LENGTHS: ReadonlySet<number> = new Set(SINGLE.map((name) => name.length));

/**
 * Reads the head of a request from the raw headers.
 *
 * @throws {Refusal} headers_too_large, malformed_request or expectation_failed. The first of these that applies is thrown.
 */
export function readHead(request: IncomingMessage, maxHeaders: number): RequestHead {
  const { rawHeaders } = request;
  if (rawHeaders.length > maxHeaders * 2) {
    const count = rawHeaders.length / 2;
    throw new Refusal('headers_too_large', `The request has ${count} headers; the maximum is ${maxHeaders}.`);
  }
  const values: (string | undefined)[] = [];
  let idempotencyKeyTwice = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const position = positionOf(rawHeaders[at] ?? '');
    if (position === undefined) continue;
    if (values[position] === undefined) values[position] = rawHeaders[at + 1];
    else if (position === IDEMPOTENCY_KEY) idempotencyKeyTwice = true;
    else if (position === PREFER || position === IF_MATCH || position === IF_NONE_MATCH)
      values[position] += `, ${rawHeaders[at + 1]}`;
    else if (position === COOKIE || position === CONSOLE) values[position] += `; ${rawHeaders[at + 1]}`;
    else {
      const message = `The header '${SINGLE[position]}' was sent more than once.`;
      throw new Refusal('malformed_request', message);
    }
  }
  const head = toHead(values, idempotencyKeyTwice);
  // Node's parser also accepts HTTP/2.0 in a request line.
  if (request.httpVersionMajor !== 1) {
    throw new Refusal('malformed_request', 'The request line does not end in HTTP/1.1 or HTTP/1.0.');
  }
  if (head.host === undefined && request.httpVersion === '1.1') {
    throw new Refusal('malformed_request', 'The request has no Host header, which HTTP/1.1 requires.');
  }
  refuseExpectation(head.expect);
  return head;
}

function positionOf(name: string): number | undefined {
  if (!LENGTHS.has(name.length)) return undefined;
  return POSITIONS.get(name) ?? POSITIONS.get(name.toLowerCase());
}

function toHead(values: readonly (string | undefined)[], idempotencyKeyTwice: boolean): RequestHead {
  return {
    host: values[0],
    authorization: values[1],
    contentType: values[2],
    contentEncoding: values[3],
    transferEncoding: values[4],
    expect: values[5],
    programId: values[6],
    origin: values[7],
    fetchSite: values[8],
    sandboxProvoke: values[9],
    sandboxProcessor: values[SANDBOX_PROCESSOR],
    prefer: values[PREFER],
    idempotencyKey: values[IDEMPOTENCY_KEY],
    caseId: values[CASE_ID],
    ifMatch: values[IF_MATCH],
    ifNoneMatch: values[IF_NONE_MATCH],
    ifUnmodifiedSince: values[IF_UNMODIFIED_SINCE],
    cookie: values[COOKIE],
    console: values[CONSOLE],
    idempotencyKeyTwice,
  };
}

function refuseExpectation(expect: string | undefined): void {
  if (expect === undefined || expect.toLowerCase() === '100-continue') return;
  throw new Refusal('expectation_failed', "The Expect header can only be '100-continue'. Omit it.");
}

/**
 * Returns the path and query of a request. A target in absolute form, as sent to a proxy, is accepted (RFC 9112, 3.2.2).
 *
 * @throws {Refusal} malformed_request
 */
export function readTarget(url: string): { readonly target: string; readonly authority: string | undefined } {
  for (let at = 0; at < url.length; at += 1) {
    const code = url.charCodeAt(at);
    if (code <= 0x20 || code >= 0x7f || code === 0x23) {
      const message = "The path contains a '#', a space or a non-ASCII character. Percent-encode it.";
      throw new Refusal('malformed_request', message);
    }
  }
  const { target, authority } = splitTarget(url);
  if (!target.startsWith('/') && target !== '*') {
    throw new Refusal('malformed_request', "The path must begin with '/'.");
  }
  return { target, authority };
}

/** Separates the authority from a target in absolute form. Other targets are returned unchanged. */
export function splitTarget(url: string): { readonly target: string; readonly authority: string | undefined } {
  const scheme = /^https?:\/\//i.exec(url)?.[0];
  if (scheme === undefined) return { target: url, authority: undefined };
  const rest = url.slice(scheme.length);
  const end = rest.search(/[/?#]/);
  if (end === -1) return { target: '/', authority: rest };
  const target = rest.slice(end);
  return { target: target.startsWith('/') ? target : `/${target}`, authority: rest.slice(0, end) };
}

/** Returns the caller's own Request-Id if it is safe to repeat. */
export function clientRequestId(request: IncomingMessage): string | undefined {
  const id = request.headers['request-id'];
  if (typeof id !== 'string' || !/^[A-Za-z0-9._-]{1,64}$/.test(id) || /[0-9]{12}/.test(id)) return undefined;
  return containsCardNumber(id) ? undefined : id;
}

/** Returns the case that the caller claims to work on. An invalid value is ignored, because the request does not depend on it. */
export function readCaseId({ caseId }: RequestHead): string | undefined {
  return caseId !== undefined && fromWireId('case', caseId) !== undefined ? caseId : undefined;
}

const MAX_KEY_LENGTH = 255;

/**
 * Returns the idempotency key of a request: 1 to 255 visible ASCII characters, plain or as a quoted string (RFC 8941). Both forms
 * stand for the same key. Returns null if the header is absent or the operation does not use a key.
 *
 * @throws {Refusal} invalid_idempotency_key
 */
export function readIdempotencyKey(head: RequestHead, use: 'none' | 'optional' | 'required'): string | null {
  if (use === 'none') return null;
  if (head.idempotencyKeyTwice) throw invalid('The Idempotency-Key header was sent more than once.');
  const sent = head.idempotencyKey;
  if (sent === undefined) {
    if (use === 'optional') return null;
    throw invalid('This operation requires an Idempotency-Key header.');
  }
  const key = sent.startsWith('"') ? unquoted(sent) : sent;
  if (key === '') throw invalid('The Idempotency-Key is empty.');
  if (key.length > MAX_KEY_LENGTH) {
    throw invalid(`The Idempotency-Key has ${key.length} characters; the maximum is ${MAX_KEY_LENGTH}.`);
  }
  for (let at = 0; at < key.length; at += 1) {
    const code = key.charCodeAt(at);
    if (code < 0x21 || code > 0x7e) {
      throw invalid(`Character ${at + 1} of the Idempotency-Key is not a visible ASCII character.`);
    }
  }
  return key;
}

function unquoted(sent: string): string {
  let key = '';
  for (let at = 1; at < sent.length; at += 1) {
    const character = sent.charAt(at);
    if (character === '"') {
      if (at === sent.length - 1) return key;
      break;
    }
    if (character === '\\') {
      at += 1;
      const escaped = sent.charAt(at);
      if (escaped !== '"' && escaped !== '\\') break;
      key += escaped;
    } else {
      key += character;
    }
  }
  throw invalid('The Idempotency-Key begins with a quotation mark but is not a valid quoted string.');
}

function invalid(message: string): Refusal {
  return new Refusal('invalid_idempotency_key', message);
}

/** A query that cannot be read. The message is a full sentence. */
export class QueryFault extends Error {
  override readonly name = 'QueryFault';
  readonly field: string | undefined;

  constructor(message: string, field?: string) {
    super(message);
    this.field = field;
  }
}

export type QueryMembers = { readonly [name: string]: JsonValue };

/**
 * Reads the query of a request target. Refuses repeated parameters ({@link QueryFault}), because parsers treat them differently.
 */
export function readQuery(target: string): QueryMembers {
  const parameters: { [name: string]: JsonValue } = Object.create(null);
  const start = target.indexOf('?');
  if (start === -1) return parameters;
  for (const pair of target.slice(start + 1).split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodePart(equals === -1 ? pair : pair.slice(0, equals));
    if (name === '__proto__') throw new QueryFault("The query parameter '__proto__' is not allowed.");
    if (parameters[name] !== undefined) {
      throw new QueryFault(`The query parameter '${maskedText(name)}' is repeated.`, `/${maskedText(name)}`);
    }
    parameters[name] = equals === -1 ? '' : decodePart(pair.slice(equals + 1));
  }
  return parameters;
}

function decodePart(part: string): string {
  const text = decoded(part.replaceAll('+', ' '));
  if (text.includes('\0')) throw new QueryFault('The query contains %00, which is not allowed.');
  return text;
}

function decoded(part: string): string {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    throw new QueryFault("The query contains a '%' that is not part of a valid UTF-8 escape.");
  }
}

/** A preference (RFC 7240): a name, and a value that may be quoted. Its parameters are not read. */
const PREFERENCE =
  /^[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]*)))?[ \t]*(?:;.*)?$/;

/** Matches the parts of a list between unquoted commas. */
const PARTS = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;

/**
 * Returns the seconds of the preference `wait` in a Prefer header. Undefined if there is no valid one. As the standard requires, an
 * invalid preference is ignored, and the first of several counts.
 */
export function readWait(prefer: string): number | undefined {
  for (const part of prefer.match(PARTS) ?? []) {
    const [, name, quoted, plain] = PREFERENCE.exec(part) ?? [];
    if (name?.toLowerCase() !== 'wait') continue;
    const value = quoted ?? plain ?? '';
    return /^[0-9]{1,9}$/.test(value) ? Number(value) : undefined;
  }
  return undefined;
}
