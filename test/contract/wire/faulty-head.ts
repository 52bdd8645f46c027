import type { Random } from '../../harness/random.ts';
import { takes } from '../steps.ts';
import type { Draft } from './draft.ts';
import type { Change } from './harmless.ts';

/** More bytes of a head than the service reads. */
const LARGE_HEAD_BYTES = 70_000;

const takesKey = ({ operation }: Draft): boolean => takes(operation, 'Idempotency-Key');
/**
 * Returns whether the request has no key. If so, the service accepts it only from programs and pages on this machine.
 */
const needsLocalCaller = ({ headers, target }: Draft): boolean =>
  target.startsWith('/api/') && !headers.some(([name]) => name.toLowerCase() === 'authorization');
const hasBody = ({ members }: Draft): boolean => members !== undefined;
const anything = (): boolean => true;

type Header = readonly [name: string, value: string];

/** Returns a fault in headers. `choose` returns headers that replace headers with the same names. */
function headers(
  name: string,
  choose: (random: Random) => readonly Header[],
  fits: (made: Draft) => boolean = anything,
  closes = false,
): Change {
  return {
    name,
    apply: (made, random) => {
      if (!fits(made)) return false;
      const chosen = choose(random);
      const names = chosen.map(([one]) => one.toLowerCase());
      made.headers = made.headers.filter(([one]) => !names.includes(one.toLowerCase()));
      for (const [one, value] of chosen) made.headers.push([one, value]);
      made.closes ||= closes;
      return true;
    },
  };
}

const twice = (name: string, ...values: readonly string[]): Change =>
  headers(`${name} twice`, (random) => [
    [name, random.pick(values)],
    [name.toLowerCase(), random.pick(values)],
  ]);

const SINGLE: readonly Change[] = [
  twice('Host', 'localhost', '127.0.0.1', 'example.com'),
  twice('Authorization', 'Bearer a', 'Bearer b'),
  twice('Content-Type', 'application/json', 'text/xml'),
  twice('Content-Encoding', 'identity'),
  twice('Program-Id', 'prog_019000000000700080000000000000de'),
  twice('Origin', 'http://localhost', 'null'),
  twice('Sec-Fetch-Site', 'same-origin'),
  twice('Expect', '100-continue'),
  twice('Request-Id', 'a'),
  twice('Sandbox-Provoke', 'unauthenticated'),
];

const KEYS: readonly Change[] = [
  headers(
    'two idempotency keys',
    () => [
      ['Idempotency-Key', 'a'],
      ['idempotency-key', 'b'],
    ],
    takesKey,
  ),
  headers(
    'the same idempotency key twice',
    () => [
      ['Idempotency-Key', 'a'],
      ['Idempotency-Key', 'a'],
    ],
    takesKey,
  ),
  headers(
    'a bad idempotency key',
    (random) => {
      const bad = ['', 'a b', 'k'.repeat(256), 'caf\xe9', '"abc', '""', '"a";b=1', 'a\tb', '"a\\x"', '\x80'];
      return [['Idempotency-Key', random.pick(bad)]];
    },
    takesKey,
  ),
];

const MEANING: readonly Change[] = [
  headers(
    'another media type',
    (random) => {
      const types = ['text/xml', 'text/plain', 'multipart/form-data; boundary=x', 'application/jsonp', 'json', '*/*'];
      return [['Content-Type', random.pick(types)]];
    },
    hasBody,
  ),
  headers(
    'another charset',
    (random) => {
      const charsets = ['utf-16', 'iso-8859-1', '"utf-7"', 'utf-16le', '', 'utf-8x'];
      return [['Content-Type', `application/json; charset=${random.pick(charsets)}`]];
    },
    hasBody,
  ),
  headers(
    'a compressed body',
    (random) => [['Content-Encoding', random.pick(['gzip', 'br', 'deflate', 'x'])]],
    hasBody,
  ),
  headers('a bad key', (random) => {
    const bad = [
      'Bearer nonsense',
      'Basic dXNlcjpwYXNz',
      'Bearer',
      'nonsense',
      `Bearer ts_${'0'.repeat(16)}_${'0'.repeat(72)}`,
    ];
    return [['Authorization', random.pick(bad)]];
  }),
  headers(
    'a foreign host',
    (random) => [['Host', random.pick(['example.com', 'localhost.example.com', '10.0.0.1', ''])]],
    // A path in absolute form names its host.
    needsLocalCaller,
  ),
  headers(
    'a foreign origin',
    (random) => [['Origin', random.pick(['https://example.com', 'null', 'file://', ''])]],
    needsLocalCaller,
  ),
  headers(
    'a page of a different site',
    (random) => [['Sec-Fetch-Site', random.pick(['cross-site', 'same-site'])]],
    needsLocalCaller,
  ),
  headers('an expectation', (random) => [['Expect', random.pick(['wonders', '200-ok', ''])]]),
  headers(
    'a program that does not exist',
    (random) => [['Program-Id', random.pick(['prog_missing', 'x', 'x'.repeat(300), `prog_${'0'.repeat(32)}`])]],
    ({ operation }) => takes(operation, 'Program-Id'),
  ),
  headers('too many headers', () => Array.from({ length: 101 }, (_, at): Header => [`x-${at}`, '1'])),
];

const BROKEN: readonly Change[] = [
  headers('a huge header', () => [['X-Huge', 'x'.repeat(LARGE_HEAD_BYTES)]], anything, true),
  headers('a NUL in a header', () => [['X-Nul', 'a\0b']], anything, true),
  headers('a folded header', () => [['X-Fold', 'a\r\n b']], anything, true),
  headers('a space in a header name', () => [['X Y', '1']], anything, true),
  headers('a lone carriage return', () => [['X-Cr', 'a\rb']], anything, true),
  headers(
    'an invalid length',
    (random) => [['Content-Length', random.pick(['-1', 'x', '1 2', '9'.repeat(30)])]],
    (made) => !hasBody(made),
    true,
  ),
  headers('a second length', () => [['Content-Length', '1']], hasBody, true),
  headers('chunks and a length', () => [['Transfer-Encoding', 'chunked']], hasBody, true),
  headers('another transfer encoding', () => [['Transfer-Encoding', 'gzip']], hasBody, true),
];

const line = (name: string, apply: (made: Draft, random: Random) => boolean): Change => ({ name, apply });

const LINE: readonly Change[] = [
  line('no Host', (made) => {
    if (made.version !== 'HTTP/1.1') return false;
    made.headers = made.headers.filter(([name]) => name.toLowerCase() !== 'host');
    return true;
  }),
  line('another method', (made, random) => {
    const others = ['DELETE', 'PUT', 'PATCH', 'TRACE', 'OPTIONS', 'PROPFIND', 'QUERY'];
    made.method = random.pick(others.filter((method) => !made.methods.has(method)));
    return true;
  }),
  line('an invalid method', (made, random) => {
    Object.assign(made, { method: random.pick(['post', 'FETCH', '', 'P\0ST', '\x16\x03']), closes: true });
    return true;
  }),
  line('a different version of HTTP', (made, random) => {
    Object.assign(made, {
      version: random.pick(['HTTP/2.0', 'HTTP/3.0', 'HTTP/9', 'http/1.1', 'HTTPS/1.1']),
      closes: true,
    });
    return true;
  }),
  line('a path that does not exist', (made, random) => {
    made.target = random.pick([
      '/nothing',
      '/api/v9/core/transfer',
      '/API/V0.1/CORE/TRANSFER',
      '/api/v0.1/core/transfers',
      '/api/v0.1/core//transfer',
    ]);
    return true;
  }),
  line('a bad escape in the path', (made, random) => {
    made.target = `/api/v0.1/core/card/${random.pick(['%zz', '%', '%f', '%ff', '%c0%80', '%00', '%ed%a0%80'])}`;
    if (made.method === 'POST') made.method = 'GET';
    return true;
  }),
  line('a segment of the path that is too long', (made, random) => {
    made.target = `/api/v0.1/core/card/${'x'.repeat(256 + random.below(500))}`;
    return true;
  }),
  line('a path with an unescaped #', (made, random) => {
    made.target += random.pick(['#x', '#']);
    return true;
  }),
  line('a path with bytes that are not ASCII', (made, random) => {
    made.target += random.pick(['\xe9', '\xff', '\x80']);
    made.closes = true;
    return true;
  }),
  line('a bad query', (made, random) => {
    const query = random.pick(['a=1&a=2', 'a=%zz', '%', 'limit=1&limit=1', 'a=%ff', 'a=%00']);
    made.target += `${made.target.includes('?') ? '&' : '?'}${query}`;
    return true;
  }),
  line('a bad limit', (made, random) => {
    if (!takes(made.operation, 'limit') || made.target.includes('?')) return false;
    made.target += `?limit=${random.pick(['0', '-1', '101', '1e1', '1.0', 'x', '99999999999999999999', '%31%00', '+1'])}`;
    return true;
  }),
  line('a bad cursor', (made, random) => {
    if (!takes(made.operation, 'cursor') || made.target.includes('?')) return false;
    made.target += `?cursor=${random.pick(['x', 'tr_', `card_${'g'.repeat(32)}`, "'", 'x'.repeat(201)])}`;
    return true;
  }),
];

/** Changes to the head that the service must refuse. */
export const FAULTY_HEAD: readonly Change[] = [...SINGLE, ...KEYS, ...MEANING, ...BROKEN, ...LINE];
