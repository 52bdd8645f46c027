import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import { fakeGateway, type HttpTestServer, startHttpServer } from '../harness/http-server.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const STORED = [
  '/',
  '/docs',
  '/docs/create_transfer',
  '/search?q=card',
  '/errors',
  '/errors/card_closed',
  '/errors?q=card',
  '/events',
  '/guides',
  '/openapi.json',
  '/adapter-openapi.json',
];

let sandbox: HttpTestServer;
let live: HttpTestServer;
let named: HttpTestServer;

beforeAll(async () => {
  const ofLive = () => fakeGateway({}, { mode: 'live', keyless: false });
  sandbox = await startHttpServer();
  live = await startHttpServer(ofLive(), { settings: { trustedProxies: 1 } });
  named = await startHttpServer(ofLive(), { settings: { publicUrl: 'https://transfers.bank.test' } });
});

afterAll(async () => {
  await Promise.all([sandbox, live, named].map(({ server }) => server.close()));
});

type Answer = { readonly status: number; readonly headers: NodeJS.Dict<string | string[]>; readonly body: Buffer };

/** Returns the response exactly as it was sent, because fetch would add headers and decompress it. */
function ask(
  path: string,
  headers: Readonly<Record<string, string>> = {},
  { server = sandbox, method = 'GET' }: { server?: HttpTestServer; method?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request({ port: server.port, host: '127.0.0.1', path, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
      });
    })
      .on('error', reject)
      .end();
  });
}

describe.each(STORED)('%s', (path) => {
  const headers = { Accept: BROWSER };

  it('is compressed on request, with the same content', async () => {
    const plain = await ask(path, headers);
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(
      (await ask(path, { ...headers, 'Accept-Encoding': 'gzip;q=0, br;q=0.0' })).headers['content-encoding'],
    ).toBeUndefined();
    const compressed = await ask(path, { ...headers, 'Accept-Encoding': 'br;q=0, gzip;q=0.5' });
    expect(compressed.headers['content-encoding']).toBe('gzip');
    expect(compressed.body.length * 2).toBeLessThan(plain.body.length);
    expect(gunzipSync(compressed.body).equals(plain.body)).toBe(true);
    for (const one of [plain, compressed]) {
      expect(one.headers.vary).toBe(
        /^\/(docs|search|openapi|adapter-openapi)/.test(path) ? 'Accept-Encoding' : 'Accept, Accept-Encoding',
      );
      expect(one.headers['cache-control']).toBe('no-cache');
      expect(Number(one.headers['content-length'])).toBe(one.body.length);
    }
  });

  it('is not sent again to clients that have it, compressed or not', async () => {
    const coding = { 'Accept-Encoding': 'gzip' };
    const tag = String((await ask(path, headers)).headers.etag);
    const compressedTag = String((await ask(path, { ...headers, ...coding })).headers.etag);
    expect(compressedTag).toBe(tag.replace(/"$/, '-gzip"'));
    for (const known of [tag, compressedTag, tag.replace(/"$/, '-br"'), `"other", W/${tag}`, '*']) {
      const again = await ask(path, { ...headers, ...coding, 'If-None-Match': known });
      expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, compressedTag]);
      expect(again.headers['content-type']).toBeUndefined();
      expect(again.headers.vary).toContain('Accept-Encoding');
    }
    expect((await ask(path, { ...headers, 'If-None-Match': '"other"' })).status).toBe(200);
  });

  it('has the same headers for HEAD, and no body', async () => {
    for (const coding of ['identity', 'gzip']) {
      const whole = await ask(path, { ...headers, 'Accept-Encoding': coding });
      const head = await ask(path, { ...headers, 'Accept-Encoding': coding }, { method: 'HEAD' });
      const { date: _date, 'request-id': _id, ...expected } = whole.headers;
      expect(head.headers).toMatchObject(expected);
      expect([head.status, head.body.length]).toEqual([200, 0]);
    }
  });
});

test('the current state of the service is never cached', async () => {
  for (const path of ['/health/live', '/health/ready']) {
    const { status, headers } = await ask(path, { 'Accept-Encoding': 'gzip' });
    expect([status, headers['cache-control'], headers.etag]).toEqual([200, 'no-store', undefined]);
  }
});

describe('the icon', () => {
  test.each([
    ['/favicon.ico', 'image/x-icon'],
    ['/favicon.svg', 'image/svg+xml'],
  ])('%s is small and cached for a long time', async (path, type) => {
    const { status, headers, body } = await ask(path);
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([200, type, 'public, max-age=2592000']);
    expect(body.length).toBeLessThan(1_500);
  });

  test('is the icon of the console', async () => {
    const file = readFileSync(join(import.meta.dirname, '../../console/icon.svg'), 'utf8');
    expect((await ask('/favicon.svg')).body.toString()).toBe(file);
  });

  test('is a file with one picture at /favicon.ico', async () => {
    const { body } = await ask('/favicon.ico');
    expect([...body.subarray(0, 8)]).toEqual([0, 0, 1, 0, 1, 0, 32, 32]);
    const [length, start] = [body.readUInt32LE(14), body.readUInt32LE(18)];
    expect(body.subarray(start, start + 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
    expect(start + length).toBe(body.length);
  });
});

/**
 * The maximum size of the document as it is sent with brotli. Two thirds of it are the names, types and descriptions of fields. New
 * operations need a higher number. Before, look for texts and examples that the document has twice.
 */
const MAX_OPENAPI_BYTES = 56_000;

type Served = {
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly object[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
};

async function document(headers: Readonly<Record<string, string>>, server: HttpTestServer): Promise<Served> {
  return JSON.parse((await ask('/openapi.json', headers, { server })).body.toString());
}

const operationsOf = ({ paths }: Served) =>
  Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId));

describe('the OpenAPI document', () => {
  it('is sent with brotli to clients that accept it, a quarter smaller than with gzip', async () => {
    const coding = (codings: string) => ask('/openapi.json', { 'Accept-Encoding': codings });
    const [plain, gzip, brotli] = [await coding('identity'), await coding('gzip'), await coding('gzip, deflate, br')];
    expect([gzip, brotli].map(({ headers }) => headers['content-encoding'])).toEqual(['gzip', 'br']);
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
    expect(brotli.headers.etag).toBe(String(plain.headers.etag).replace(/"$/, '-br"'));
    expect(Number(brotli.headers['content-length'])).toBe(brotli.body.length);
    expect(brotli.body.length).toBeLessThan((gzip.body.length * 3) / 4);
    console.log(`/openapi.json: ${brotli.body.length} bytes with brotli, ${gzip.body.length} with gzip`);
    expect(brotli.body.length).toBeLessThan(MAX_OPENAPI_BYTES);
  });

  it('is compressed with brotli only for the first Hosts, because callers can choose the Host', async () => {
    const encodings: unknown[] = [];
    for (let at = 0; at < 12; at += 1) {
      const headers = { Host: `bank-${at}.test`, 'Accept-Encoding': 'br, gzip' };
      encodings.push((await ask('/openapi.json', headers, { server: live })).headers['content-encoding']);
    }
    expect(encodings.filter((coding) => coding === 'br').length).toBeLessThanOrEqual(8);
    expect(encodings.at(-1)).toBe('gzip');
  });

  test.each([
    ['the Host of the request', { Host: 'bank.test:8080' }, 'http://bank.test:8080'],
    ['https behind a trusted proxy', { Host: 'bank.test', 'X-Forwarded-Proto': 'https' }, 'https://bank.test'],
    ['the scheme from the last proxy', { Host: 'bank.test', 'X-Forwarded-Proto': 'https, http' }, 'http://bank.test'],
    ['the default address for a Host that is not a plain name', { Host: 'bank_test' }, 'http://localhost:8080'],
    ['the default address for an impossible address', { Host: '1.2.3.999' }, 'http://localhost:8080'],
    ['the default address for an impossible port', { Host: 'bank.test:99999' }, 'http://localhost:8080'],
  ])('has the URL of the service: %s', async (_what, headers, url) => {
    const { servers } = await document(headers, live);
    expect(servers.map((server) => server.url)).toEqual([url]);
  });

  it.each(['1.2.3.999', 'bank.test:99999', '[::::]'])('shows a guide to a browser with the Host %s', async (Host) => {
    expect((await ask('/guides/quickstart', { Host, Accept: BROWSER }, { server: sandbox })).status).toBe(200);
  });

  it('trusts no proxy headers without trusted proxies', async () => {
    const { servers } = await document({ Host: 'bank.test', 'X-Forwarded-Proto': 'https' }, sandbox);
    expect(servers.map(({ url }) => url)).toEqual(['http://bank.test']);
  });

  it('has PUBLIC_URL if it is set, for any Host', async () => {
    const { servers } = await document({ Host: 'other.test' }, named);
    expect(servers.map(({ url }) => url)).toEqual(['https://transfers.bank.test']);
    const page = (await ask('/docs', { Host: 'other.test', Accept: BROWSER }, { server: named })).body.toString();
    expect(page).not.toContain('other.test');
  });

  it('has the sandbox operations, and everything that only they use, only in a sandbox', async () => {
    const [ofSandbox, ofLive] = [await document({}, sandbox), await document({}, live)];
    const own = OPERATION_IDS.filter((id) => OPERATIONS[id].reach === 'sandbox');
    expect(own.length).toBeGreaterThan(0);
    expect(operationsOf(ofSandbox)).toEqual(expect.arrayContaining([...OPERATION_IDS]));
    expect(operationsOf(ofSandbox).filter((id) => !operationsOf(ofLive).includes(id))).toEqual(own);
    expect(ofSandbox.tags.map(({ name }) => name)).toContain('Sandbox');
    expect(ofLive.tags.map(({ name }) => name)).not.toContain('Sandbox');
    const text = JSON.stringify(ofLive);
    expect(text).not.toContain('parameters/SandboxProvoke');
    // Every reference must have a target. Every component must be referenced, except the ways to authenticate.
    const references = new Set(text.match(/#\/components\/[^"]+/g));
    const components = Object.entries(JSON.parse(text).components as Record<string, object>).flatMap(([kind, of]) =>
      kind === 'securitySchemes' ? [] : Object.keys(of).map((name) => `#/components/${kind}/${name}`),
    );
    expect([...references].sort()).toEqual(components.sort());
  });

  it('requires credentials if the service does', async () => {
    expect((await document({}, sandbox)).security).toContainEqual({});
    expect((await document({}, live)).security).toEqual([{ apiKey: [] }, { session: [] }]);
  });
});
