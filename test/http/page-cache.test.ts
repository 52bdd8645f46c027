import { expect, test } from 'vitest';
import { PageCache } from '../../server/pages/page-cache.ts';
import { serve } from '../harness/http-server.ts';

test('a page is rendered once per base URL, and stored for the last one', async () => {
  const cache = new PageCache();
  let made = 0;
  const get = async (name: string, base: string): Promise<string> => {
    const { bytes } = await cache.get(name, base, () => {
      made += 1;
      return `${name} at ${base}`;
    });
    return bytes.toString();
  };
  expect([await get('docs', 'a'), await get('docs', 'a'), await get('errors', 'a'), made]).toEqual([
    'docs at a',
    'docs at a',
    'errors at a',
    2,
  ]);
  expect([await get('docs', 'b'), await get('docs', 'b'), made]).toEqual(['docs at b', 'docs at b', 3]);
  expect([await get('docs', 'a'), made]).toEqual(['docs at a', 4]);
});

test.each(['/docs', '/docs/create_transfer', '/errors', '/errors/unauthenticated'])(
  '%s is the same each time, and HEAD has its length',
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
