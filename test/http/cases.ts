import { bare, post } from '../harness/raw-connection.ts';

/** A request as bytes, and its expected response. */
export type RawCase = {
  readonly name: string;
  readonly send: string | Buffer;
  readonly status: number;
  readonly code: string;
  readonly method?: string;
  readonly closes?: boolean;
  /** Whether the sender half-closes the connection after the bytes. */
  readonly ends?: boolean;
  /** Whether the case must be the first request on its connection. */
  readonly onlyFresh?: boolean;
  /** The code while the service closes, if it is not service_unavailable. */
  readonly codeWhileClosing?: string;
  /** Headers that the response must have. */
  readonly headers?: Readonly<Record<string, string>>;
};

const TRANSFER = '/api/v0.1/core/transfer';
const CARD = '4111111111111111';

const GOOD_BODY = '{"amount":1000,"card_id":"card_1"}';
const JSON_HEADER = 'Content-Type: application/json';

const schema = (name: string, send: string | Buffer): RawCase => ({
  name,
  send,
  status: 400,
  code: 'create_transfer_schema',
});

/** Bodies that many parsers accept silently. */
const SYNTAX: readonly RawCase[] = [
  schema('an open brace', post('{')),
  schema('NaN', post('{"amount":NaN,"card_id":"c"}')),
  schema('a member named twice', post('{"amount":1,"amount":2,"card_id":"c"}')),
  schema('__proto__', post('{"__proto__":{"amount":1},"card_id":"c"}')),
  schema('constructor with a prototype', post('{"constructor":{"prototype":{"amount":1}},"card_id":"c"}')),
  schema('invalid UTF-8', post(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))),
  schema('UTF-16', post(Buffer.from('\ufeff{}', 'utf16le'))),
  schema('a lone surrogate', post('{"amount":1,"card_id":"\\ud800"}')),
  schema('an escaped NUL', post('{"amount":1,"card_id":"a\\u0000b"}')),
  schema('a raw NUL', post('{"amount":1,"card_id":"a\0b"}')),
  schema('deep nesting', post(`${'['.repeat(5000)}${']'.repeat(5000)}`)),
  schema('text after the value', post('{"amount":1,"card_id":"c"} x')),
  schema('two values', post('{}{}')),
  schema('a trailing comma', post('{"amount":1,"card_id":"c",}')),
  schema('single quotes', post("{'amount':1}")),
  schema('a comment', post('{/* */"amount":1}')),
  schema('a leading zero', post('{"amount":01,"card_id":"c"}')),
  schema('hexadecimal', post('{"amount":0x10,"card_id":"c"}')),
  schema('an array', post('[]')),
  schema('a number', post(CARD)),
  schema('null', post('null')),
  schema('an empty body', post('')),
  schema('no body', Buffer.from(bare('POST', TRANSFER))),
  schema('an empty body labeled as a form', post('', ['Content-Type: application/x-www-form-urlencoded'])),
  schema('a query instead of a body', Buffer.from(bare('POST', `${TRANSFER}?amount=1&card_id=c`))),
  schema('a query parameter twice', post(GOOD_BODY).toString().replace(TRANSFER, `${TRANSFER}?a=1&a=2`)),
  schema('a broken escape in the query', post(GOOD_BODY).toString().replace(TRANSFER, `${TRANSFER}?a=%zz`)),
];

const unsupported = (name: string, ...headers: string[]): RawCase => ({
  name,
  send: post(GOOD_BODY, headers),
  status: 415,
  code: 'unsupported_media_type',
  headers: { accept: 'application/json' },
});

const MEDIA_TYPES: readonly RawCase[] = [
  {
    ...unsupported('a transfer encoding that does not end'),
    send: `${bare('POST', TRANSFER, ['Host: localhost', 'Transfer-Encoding: gzip'])}{}`,
    closes: true,
  },
  unsupported('XML', 'Content-Type: text/xml'),
  unsupported('plain text', 'Content-Type: text/plain;charset=UTF-8'),
  unsupported('an invalid media type', 'Content-Type: nonsense'),
  unsupported('JSON in UTF-16', 'Content-Type: application/json; charset=utf-16'),
  unsupported('JSON in Latin 1', 'Content-Type: application/json; charset="ISO-8859-1"'),
  unsupported('gzip', JSON_HEADER, 'Content-Encoding: gzip'),
  {
    ...unsupported('a valid form'),
    send: post('amount=1&card_id=c', ['Content-Type: application/x-www-form-urlencoded']),
  },
  {
    ...unsupported('a compressed transfer'),
    send: `${bare('POST', TRANSFER, ['Host: localhost', 'Transfer-Encoding: gzip, chunked'])}2\r\n{}\r\n0\r\n\r\n`,
  },
];

const twice = (header: string, first: string, second: string): RawCase => ({
  name: `${header} twice`,
  send: post(GOOD_BODY, [`${header}: ${first}`, `${header.toLowerCase()}: ${second}`]),
  status: 400,
  code: 'malformed_request',
});

const REPEATED: readonly RawCase[] = [
  twice('Authorization', 'Bearer a', 'Bearer b'),
  twice('Content-Type', 'application/json', 'text/xml'),
  twice('Content-Encoding', 'identity', 'gzip'),
  twice('Program-Id', 'prog_a', 'prog_b'),
  twice('Case-Id', 'case_a', 'case_b'),
  twice('Origin', 'http://localhost', 'http://example.com'),
  twice('Sec-Fetch-Site', 'none', 'cross-site'),
  twice('Host', 'localhost', 'example.com'),
  twice('Expect', '100-continue', '100-continue'),
];

const key = (name: string, ...headers: string[]): RawCase => ({
  name,
  send: post(GOOD_BODY, headers),
  status: 400,
  code: 'invalid_idempotency_key',
});

const KEYS: readonly RawCase[] = [
  key('two idempotency keys', 'Idempotency-Key: a', 'Idempotency-Key: a'),
  key('an empty idempotency key', 'Idempotency-Key:'),
  key('an idempotency key of 256 characters', `Idempotency-Key: ${'k'.repeat(256)}`),
  key('an idempotency key with a space', 'Idempotency-Key: a b'),
  key('an idempotency key that is not ASCII', 'Idempotency-Key: caf\xe9'),
  key('a quoted idempotency key without its closing quote', 'Idempotency-Key: "abc'),
  key('an empty quoted idempotency key', 'Idempotency-Key: ""'),
  key('a quoted idempotency key with parameters', 'Idempotency-Key: "abc";a=1'),
  {
    ...key('a missing idempotency key where one is required'),
    send: bare('POST', '/api/v0.1/operator/program/prog_1/deposit', ['Host: localhost', 'Content-Length: 2']).concat(
      '{}',
    ),
  },
];

const allow = (methods: string): Readonly<Record<string, string>> => ({ allow: methods });
const notFound = (name: string, send: string): RawCase => ({ name, send, status: 404, code: 'route_not_found' });
const wrongMethod = (name: string, send: string, methods: string): RawCase => ({
  name,
  send,
  status: 405,
  code: 'method_not_allowed',
  headers: allow(methods),
});
const malformed = (name: string, send: string | Buffer): RawCase => ({
  name,
  send,
  status: 400,
  code: 'malformed_request',
});

const fault = (
  status: number,
  code: string,
  name: string,
  send: string | Buffer,
  more: Partial<RawCase> = {},
): RawCase => ({ name, send, status, code, ...more });

const ROUTES: readonly RawCase[] = [
  notFound('an unknown path', bare('GET', '/nothing')),
  notFound('an unknown path with a body', post(GOOD_BODY).toString().replace(TRANSFER, '/nothing')),
  notFound('an unknown version', bare('GET', '/api/v9/core/transfer')),
  notFound('a path in upper case', bare('GET', '/API/V0.1/CORE/TRANSFER')),
  notFound('an empty id', bare('GET', '/api/v0.1/operator/program//deposit')),
  notFound('an unknown code', bare('GET', `/errors/${CARD}`)),
  wrongMethod('DELETE of the transfers', bare('DELETE', TRANSFER), 'GET, HEAD, POST'),
  wrongMethod('POST to a transfer', post('{').toString().replace(TRANSFER, `${TRANSFER}/tr_1`), 'GET, HEAD, PATCH'),
  wrongMethod('OPTIONS of the transfers', bare('OPTIONS', TRANSFER), 'GET, HEAD, POST'),
  wrongMethod('OPTIONS of the server', bare('OPTIONS', '*'), 'DELETE, GET, HEAD, PATCH, POST'),
  wrongMethod('TRACE', bare('TRACE', TRANSFER), 'GET, HEAD, POST'),
  wrongMethod('PROPFIND', bare('PROPFIND', TRANSFER), 'GET, HEAD, POST'),
  wrongMethod(
    'QUERY without a media type',
    bare('QUERY', TRANSFER, ['Host: localhost', 'Content-Length: 2']).concat('{}'),
    'GET, HEAD, POST',
  ),
  {
    ...wrongMethod('CONNECT', bare('CONNECT', 'example.com:443'), 'DELETE, GET, HEAD, PATCH, POST'),
    closes: true,
    codeWhileClosing: 'method_not_allowed',
  },
  malformed('a broken escape in the path', bare('GET', `${TRANSFER}/%zz${CARD}`)),
  malformed('an escape that is not UTF-8', bare('GET', `${TRANSFER}/%ff`)),
  malformed('a fragment', bare('GET', `${TRANSFER}#?limit=1`)),
  malformed('a fragment in absolute form', bare('GET', `http://localhost${TRANSFER}#?limit=1`)),
  malformed('a broken escape in absolute form', bare('GET', `http://localhost${TRANSFER}/%zz`)),
  fault(414, 'uri_too_long', 'an id of 300 characters', bare('GET', `${TRANSFER}/${'1'.repeat(300)}`)),
  fault(400, 'get_transfer_schema', 'a control character in an id', bare('GET', `${TRANSFER}/tr%00`), {
    headers: { 'error-field': '/transfer_id' },
  }),
  fault(404, 'route_not_found', 'HEAD of an unknown path', bare('HEAD', '/nothing'), { method: 'HEAD' }),
];

const HEADS: readonly RawCase[] = [
  malformed('no Host', bare('GET', TRANSFER, [])),
  { ...malformed('no version', 'GET /\r\n\r\n'), closes: true },
  fault(417, 'expectation_failed', 'an expectation', bare('GET', TRANSFER, ['Host: localhost', 'Expect: wonders'])),
  fault(
    417,
    'expectation_failed',
    'an expectation in HTTP/1.0',
    bare('GET', TRANSFER, ['Host: localhost', 'Expect: wonders']).replace('HTTP/1.1', 'HTTP/1.0'),
    { closes: true },
  ),
  {
    ...malformed(
      'chunks in HTTP/1.0',
      bare('POST', TRANSFER, ['Host: localhost', 'Transfer-Encoding: chunked']).replace('HTTP/1.1', 'HTTP/1.0') +
        '2\r\n{}\r\n0\r\n\r\n',
    ),
    closes: true,
  },
  fault(
    431,
    'headers_too_large',
    '101 headers',
    bare('GET', TRANSFER, ['Host: localhost', ...Array.from({ length: 100 }, (_, at) => `X-${at}: 1`)]),
  ),
  fault(
    431,
    'headers_too_large',
    '1,500 headers',
    bare('GET', TRANSFER, ['Host: localhost', ...Array.from({ length: 1500 }, () => 'a:')]),
  ),
];

const broken = (name: string, send: string | Buffer, more: Partial<RawCase> = {}): RawCase => ({
  ...malformed(name, send),
  closes: true,
  codeWhileClosing: 'malformed_request',
  ...more,
});
const TOO_LARGE = { status: 431, code: 'headers_too_large', codeWhileClosing: 'headers_too_large' };
const TLS_HELLO = Buffer.from('16030100c8010000c40303', 'hex');
const CHUNKED = ['Host: localhost', JSON_HEADER, 'Transfer-Encoding: chunked'];

const BROKEN: readonly RawCase[] = [
  broken('TLS', TLS_HELLO),
  broken('HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  broken('an unknown method', bare('FETCH', TRANSFER)),
  broken('a method in lower case', bare('get', TRANSFER)),
  broken('HTTP/3.0', bare('GET', TRANSFER).replace('HTTP/1.1', 'HTTP/3.0')),
  broken('a path without a slash', bare('GET', 'transfer')),
  broken('a fragment after the authority', bare('GET', 'http://localhost#/api')),
  broken('words', 'hello there\r\n\r\n'),
  broken('a length together with chunks', `${bare('POST', TRANSFER, [...CHUNKED, 'Content-Length: 2'])}0\r\n\r\n`),
  broken('two lengths', `${bare('POST', TRANSFER, ['Host: localhost', 'Content-Length: 2', 'Content-Length: 3'])}{}`),
  broken('a negative length', `${bare('POST', TRANSFER, ['Host: localhost', 'Content-Length: -2'])}{}`),
  broken('a length in words', `${bare('POST', TRANSFER, ['Host: localhost', 'Content-Length: two'])}{}`),
  broken('an enormous length', bare('POST', TRANSFER, ['Host: localhost', `Content-Length: ${'9'.repeat(30)}`])),
  broken('a space before the colon', bare('GET', TRANSFER, ['Host : localhost'])),
  broken('a header without a colon', bare('GET', TRANSFER, ['Host: localhost', 'nonsense'])),
  broken('a NUL in a header', bare('GET', TRANSFER, ['Host: localhost', 'A: b\0c'])),
  broken('a folded header', bare('GET', TRANSFER, ['Host: localhost', 'A: b', ' c'])),
  broken('bare line feeds', `GET ${TRANSFER} HTTP/1.1\nHost: localhost\n\n`),
  broken('a header of 17,000 bytes', bare('GET', TRANSFER, ['Host: localhost', `A: ${'a'.repeat(17_000)}`]), TOO_LARGE),
  broken('a path of 17,000 bytes', bare('GET', `/${'1'.repeat(17_000)}`), TOO_LARGE),
  broken('a truncated request line', 'GET /api', { ends: true }),
  broken('truncated headers', `GET ${TRANSFER} HTTP/1.1\r\nHost: local`, { ends: true }),
];

/** Faults in a body that is still arriving. The response belongs to that body's request. */
const BROKEN_BODIES: readonly RawCase[] = [
  broken('a chunk without a size', `${bare('POST', TRANSFER, CHUNKED)}zz\r\n{}\r\n0\r\n\r\n`),
  broken('a chunk longer than its size', `${bare('POST', TRANSFER, CHUNKED)}2\r\n{}{}\r\n0\r\n\r\n`),
  broken('a truncated body', `${bare('POST', TRANSFER, ['Host: localhost', 'Content-Length: 90'])}{"am`, {
    ends: true,
  }),
  broken('a truncated chunk', `${bare('POST', TRANSFER, CHUNKED)}20\r\n{"am`, { ends: true }),
].map(({ codeWhileClosing: _unused, ...rest }) => rest);

const SIZES: readonly RawCase[] = [
  fault(413, 'payload_too_large', 'a body of 170,000 bytes', post(' '.repeat(170_000))),
  fault(
    413,
    'payload_too_large',
    'chunks of 170,000',
    `${bare('POST', TRANSFER, CHUNKED)}29810\r\n${' '.repeat(170_000)}\r\n0\r\n\r\n`,
  ),
  fault(
    413,
    'payload_too_large',
    'an announced body of a gigabyte',
    `${bare('POST', TRANSFER, ['Host: localhost', JSON_HEADER, 'Content-Length: 1073741824'])}{`,
    { closes: true },
  ),
  fault(
    413,
    'payload_too_large',
    'an announced body of a gigabyte that waits for 100 Continue',
    bare('POST', TRANSFER, ['Host: localhost', JSON_HEADER, 'Expect: 100-continue', 'Content-Length: 1073741824']),
    { closes: true },
  ),
  fault(
    415,
    'unsupported_media_type',
    'a form of 170,000 bytes',
    post('a'.repeat(170_000), ['Content-Type: application/x-www-form-urlencoded']),
  ),
];

const CALLERS: readonly RawCase[] = [
  fault(401, 'unauthenticated', 'an unknown key', post(GOOD_BODY, ['Authorization: Bearer nonsense']), {
    headers: { 'www-authenticate': 'Bearer realm="transfer-service"' },
  }),
  fault(401, 'unauthenticated', 'another scheme', post(GOOD_BODY, ['Authorization: Basic YTpi'])),
  fault(401, 'unauthenticated', 'a key without a scheme', post(GOOD_BODY, ['Authorization: operator'])),
  fault(403, 'forbidden', 'a foreign host', bare('GET', TRANSFER, ['Host: example.com'])),
  fault(403, 'forbidden', 'a host that only looks local', bare('GET', TRANSFER, ['Host: localhost.example.com'])),
  fault(403, 'forbidden', 'a foreign absolute path', bare('GET', `http://example.com${TRANSFER}`)),
  fault(403, 'forbidden', 'a foreign origin', post(GOOD_BODY, ['Origin: https://example.com'])),
  fault(403, 'forbidden', 'the origin null', post(GOOD_BODY, ['Origin: null'])),
  fault(403, 'forbidden', 'a page of a different site', post(GOOD_BODY, ['Sec-Fetch-Site: cross-site'])),
  fault(
    403,
    'forbidden',
    "a program's key at an operator's route",
    bare('GET', '/api/v0.1/operator/key', ['Host: localhost', 'Authorization: Bearer program']),
  ),
  fault(404, 'program_not_found', 'an unknown program', post(GOOD_BODY, ['Program-Id: prog_x'])),
  fault(
    400,
    'create_transfer_schema',
    "an operator's key without a program",
    post(GOOD_BODY, ['Authorization: Bearer operator']),
  ),
  fault(
    500,
    'unknown_create_transfer',
    'a fault while the key is looked up',
    post(GOOD_BODY, ['Authorization: Bearer broken']),
    { headers: { 'money-moved': 'no' } },
  ),
];

/**
 * All cases. The tests send each case on a fresh connection, after another request, pipelined, and while the service
 * closes.
 */
export const CASES: readonly RawCase[] = [
  ...SYNTAX,
  ...MEDIA_TYPES,
  ...REPEATED,
  ...KEYS,
  ...ROUTES,
  ...HEADS,
  ...BROKEN,
  ...BROKEN_BODIES,
  ...SIZES,
  ...CALLERS,
];
