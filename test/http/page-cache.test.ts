import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PageCache } from '../../server/pages/page-cache.ts';
import { fakeGateway, type HttpTestServer, serve } from '../harness/http-server.ts';
import { bare } from '../harness/raw-connection.ts';

/** Returns a cache, and the list of pages that it has rendered. */
function cacheOf(maxBytes?: number) {
  const cache = new PageCache(maxBytes);
  const rendered: string[] = [];
  const render = (text: string, length = 0) => {
    rendered.push(text);
    // Random bytes, which cannot be compressed.
    return length === 0 ? text : randomBytes(length);
  };
  const ofBase = async (name: string, base: string, length?: number) =>
    (await cache.ofBase(name, base, () => render(`${name} at ${base}`, length)).body).bytes.toString();
  const plain = async (name: string) => (await cache.plain(name, () => render(name)).body).bytes.toString();
  return { ofBase, plain, rendered };
}

test('renders a page once for each base URL, or only once if it contains none', async () => {
  const { ofBase, plain, rendered } = cacheOf();
  for (let round = 0; round < 3; round += 1) {
    for (const base of ['a', 'b']) {
      for (const name of ['docs', 'errors']) expect(await ofBase(name, base)).toBe(`${name} at ${base}`);
      expect(await plain('errors.json')).toBe('errors.json');
    }
  }
  expect(rendered).toEqual(['docs at a', 'errors at a', 'errors.json', 'docs at b', 'errors at b']);
});

test('drops the least recently requested pages when all pages together exceed the maximum', async () => {
  const { ofBase, plain, rendered } = cacheOf(100_000);
  await plain('errors.json');
  // A page takes 20 KB: 10 KB plain and 10 KB compressed.
  for (let at = 0; at < 20; at += 1) {
    await ofBase('docs', `${at}`, 10_000);
    await ofBase('docs', '0', 10_000);
  }
  expect(rendered).toHaveLength(21);
  await ofBase('docs', '19', 10_000);
  await plain('errors.json');
  expect(rendered).toHaveLength(21);
  await ofBase('docs', '1', 10_000);
  expect(rendered).toHaveLength(22);
});

test('renders a page again if it failed', async () => {
  const cache = new PageCache();
  const fail = () => {
    throw new Error('no template');
  };
  expect(() => cache.ofBase('docs', 'a', fail)).toThrow('no template');
  expect(cache.ofBase('docs', 'a', () => 'text')).toMatchObject({ isRendered: true });
});

describe('with another Host on each request', () => {
  const ACCEPT = 'Accept: text/html';

  async function serveLimited() {
    const { ask } = await serve(undefined, { settings: { addressRatePerSecond: 1_000 } });
    let left = 10_000;
    /**
     * Returns a function that measures how many requests a page counts as. The clock is stopped, so the allowance does
     * not grow.
     */
    return async (path: string, host: string): Promise<number> => {
      const response = await ask(bare('GET', path, [`Host: ${host}`, ACCEPT]));
      expect(response.status).toBe(200);
      const before = left;
      left = Number(/"address";r=([0-9]+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]);
      return before - left;
    };
  }

  beforeEach(() => void vi.spyOn(performance, 'now').mockReturnValue(performance.now()));
  afterEach(() => void vi.restoreAllMocks());

  test.each(['/errors', '/errors.json', '/events', '/events.json', '/guides'])(
    '%s does not contain the Host, and costs the same for every Host',
    async (path) => {
      const cost = await serveLimited();
      for (const host of ['a.test', 'b.test', 'c.test']) expect([10, 11]).toContain(await cost(path, host));
    },
  );

  test.each(['/docs', '/docs/create_transfer', '/errors/card_closed', '/guides/quickstart', '/openapi.json'])(
    '%s contains the Host, costs more, and is stored for each Host',
    async (path) => {
      const cost = await serveLimited();
      for (const host of ['a.test', 'b.test']) expect([30, 31]).toContain(await cost(path, host));
      for (const host of ['a.test', 'b.test']) expect([10, 11]).toContain(await cost(path, host));
    },
  );

  test.each([
    '/docs',
    '/docs/create_transfer',
    '/errors/card_closed',
    '/guides/quickstart',
    '/openapi.json',
    '/errors',
  ])('%s shows only the Host of the current request', async (path) => {
    for (const mode of ['sandbox', 'live'] as const) {
      const fresh = () => serve(fakeGateway({}, { mode }));
      const read = async ({ ask }: HttpTestServer, host: string) =>
        (await ask(bare('GET', path, [`Host: ${host}`, ACCEPT]))).body;
      const shared = await fresh();
      const bodies = [await read(shared, 'first.test'), await read(shared, 'second.test:81')];
      expect(bodies).toEqual([await read(await fresh(), 'first.test'), await read(await fresh(), 'second.test:81')]);
    }
  });
});

test.each(['/docs', '/docs/create_transfer', '/errors', '/errors/unauthenticated'])(
  '%s is the same each time, and HEAD returns its length',
  async (path) => {
    const connection = await (await serve()).connect();
    const ask = (method: string, host = 'localhost') => {
      connection.send(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\n\r\n`);
      return connection.next(method);
    };
    const first = await ask('GET');
    expect(first.body).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
    expect((await ask('GET')).body).toBe(first.body);
    const head = await ask('HEAD');
    expect([head.body, head.headers.get('content-length')]).toEqual(['', first.headers.get('content-length')]);
    await ask('GET', 'elsewhere.test:81');
    expect((await ask('GET')).body).toBe(first.body);
  },
);
