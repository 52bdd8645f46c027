import type { IncomingMessage } from 'node:http';
import { containsCardNumber } from '../../../domain/cards/card-number.ts';
import { Refusal } from '../../../domain/refusal.ts';

/** The headers that the service looks at, each at most once. */
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
  readonly idempotencyKey: string | undefined;
  /** Whether Idempotency-Key was sent more than once: a fault of the operation that takes one, not of HTTP. */
  readonly idempotencyKeyTwice: boolean;
};

/** Headers that have one value. Node would join some when they are repeated, and take the first or last of others. */
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
] as const;
const IDEMPOTENCY_KEY = SINGLE.indexOf('Idempotency-Key');
const POSITIONS: ReadonlyMap<string, number> = new Map(
  SINGLE.flatMap((name, position) => [
    [name, position],
    [name.toLowerCase(), position],
  ]),
);
const LENGTHS: ReadonlySet<number> = new Set(SINGLE.map((name) => name.length));

/**
 * Reads the head of a request from the headers as they were sent.
 *
 * @throws {Refusal} headers_too_large, malformed_request or expectation_failed, in this order.
 */
export function readHead(request: IncomingMessage, maxHeaders: number): RequestHead {
  const { rawHeaders } = request;
  if (rawHeaders.length > maxHeaders * 2) {
    const count = rawHeaders.length / 2;
    throw new Refusal('headers_too_large', `The request has ${count} headers, and ${maxHeaders} are the most.`);
  }
  const values: (string | undefined)[] = [];
  let idempotencyKeyTwice = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const position = positionOf(rawHeaders[at] ?? '');
    if (position === undefined) continue;
    if (values[position] === undefined) values[position] = rawHeaders[at + 1];
    else if (position === IDEMPOTENCY_KEY) idempotencyKeyTwice = true;
    else {
      const message = `The header '${SINGLE[position]}' was sent more than once, and it can have one value only.`;
      throw new Refusal('malformed_request', message);
    }
  }
  const head = named(values, idempotencyKeyTwice);
  // Node's parser lets HTTP/2.0 pass in a request line, where it cannot be meant.
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

function named(values: readonly (string | undefined)[], idempotencyKeyTwice: boolean): RequestHead {
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
    idempotencyKey: values[IDEMPOTENCY_KEY],
    idempotencyKeyTwice,
  };
}

function refuseExpectation(expect: string | undefined): void {
  if (expect === undefined || expect.toLowerCase() === '100-continue') return;
  throw new Refusal('expectation_failed', "The Expect header can only be '100-continue'. Leave it out.");
}

/**
 * The path and query of a request, also when it was sent in absolute form, as to a proxy.
 *
 * @throws {Refusal} malformed_request
 */
export function readTarget(url: string): { readonly target: string; readonly authority: string | undefined } {
  for (let at = 0; at < url.length; at += 1) {
    const code = url.charCodeAt(at);
    if (code <= 0x20 || code >= 0x7f || code === 0x23) {
      const message = "The path holds a '#', a blank or a character that is not ASCII; such characters are escaped.";
      throw new Refusal('malformed_request', message);
    }
  }
  if (url.startsWith('/') || url === '*') return { target: url, authority: undefined };
  const scheme = url.slice(0, 8).toLowerCase();
  const start = scheme.startsWith('http://') ? 7 : scheme === 'https://' ? 8 : 0;
  if (start === 0) throw new Refusal('malformed_request', "The path must begin with '/'.");
  const rest = url.slice(start);
  const end = rest.search(/[/?]/);
  if (end === -1) return { target: '/', authority: rest };
  const target = rest.slice(end);
  return { target: target.startsWith('/') ? target : `/${target}`, authority: rest.slice(0, end) };
}

/** The caller's own Request-Id, when it can be given back without harm. */
export function clientRequestId(request: IncomingMessage): string | undefined {
  const id = request.headers['request-id'];
  if (typeof id !== 'string' || !/^[A-Za-z0-9._-]{1,64}$/.test(id) || /[0-9]{12}/.test(id)) return undefined;
  return containsCardNumber(id) ? undefined : id;
}
