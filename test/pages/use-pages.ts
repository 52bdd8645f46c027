import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import { fakeGateway, type HttpTestServer, startHttpServer } from '../harness/http-server.ts';
import { type Element, readPage } from './page-reader.ts';

export const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

/** Text that must never be read as markup. */
export const HOSTILE = `<script>alert(1)</script>"'&amp; onfocus=x </style><img src=x> ${'z'.repeat(40)}`;

/** Sets up a sandbox and a live service for the pages of a test file. No page may need the database. */
export function usePages() {
  const servers: { sandbox?: HttpTestServer; live?: HttpTestServer } = {};
  const started = (mode: 'sandbox' | 'live'): HttpTestServer => {
    const server = servers[mode];
    if (server === undefined) throw new Error('the service was not started');
    return server;
  };

  beforeAll(async () => {
    const never = async () => {
      throw new Error('a page must not need the database');
    };
    servers.sandbox = await startHttpServer(fakeGateway({}, { authenticate: never, findProgram: never, ready: never }));
    const contact = 'https://help.example/?a=1&b="2"<b>';
    servers.live = await startHttpServer(fakeGateway({}, { mode: 'live', keyless: false, supportContact: contact }));
  });

  afterAll(async () => {
    await Promise.all(Object.values(servers).map(({ server }) => server.close()));
  });

  const urlOf = (mode: 'sandbox' | 'live' = 'sandbox'): string => `http://127.0.0.1:${started(mode).port}`;

  async function ask(path: string, accept?: string, mode?: 'sandbox' | 'live'): Promise<Response> {
    return fetch(urlOf(mode) + path, { headers: accept === undefined ? {} : { Accept: accept } });
  }

  async function page(path: string, mode?: 'sandbox' | 'live'): Promise<readonly Element[]> {
    const answer = await ask(path, BROWSER, mode);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const text = await answer.text();
    const hashOf = (tag: string) => {
      const content = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(text)?.[1] ?? '';
      return createHash('sha256').update(content).digest('base64');
    };
    expect(answer.headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hashOf('style')}'; script-src 'sha256-${hashOf('script')}'; ` +
        "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
        "require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    return readPage(text.replaceAll(/<svg.*?<\/svg>/gs, ''));
  }

  async function data(path: string, accept = 'application/json'): Promise<unknown> {
    const answer = await ask(path, accept);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    return answer.json();
  }
  return { urlOf, ask, page, data };
}

export const texts = (elements: readonly Element[], tag: string) =>
  elements.filter((element) => element.tag === tag).map(({ text }) => text);

export const links = (elements: readonly Element[]) =>
  elements.flatMap(({ attributes }) => attributes.get('href') ?? attributes.get('action') ?? []);

export const codesLinked = (elements: readonly Element[]) =>
  links(elements).flatMap((link) => /^\/errors\/([a-z_]+)$/.exec(link)?.[1] ?? []);

/** Checks the rules for every page: one heading, landmarks, a skip link, and unique ids. */
export function expectFrame(elements: readonly Element[]): void {
  for (const tag of ['h1', 'main', 'title', 'style', 'script']) expect(texts(elements, tag)).toHaveLength(1);
  expect(elements.find(({ tag }) => tag === 'html')?.attributes.get('lang')).toBe('en');
  expect(elements.find(({ tag }) => tag === 'a')?.attributes.get('href')).toBe('#content');
  const ids = elements.flatMap(({ attributes }) => attributes.get('id') ?? []);
  expect(new Set(ids).size).toBe(ids.length);
  // Calls `expect` once for all attributes, because a page has thousands.
  const names = new Set(elements.flatMap(({ attributes }) => [...attributes.keys()]));
  expect([...names].filter((name) => /^(on|style$|src$)/.test(name))).toEqual([]);
  const known = new Set(ids);
  const labels = elements.flatMap(({ attributes }) =>
    ['aria-labelledby', 'for'].flatMap((name) => attributes.get(name) ?? []),
  );
  expect(labels.filter((label) => !known.has(label))).toEqual([]);
  const levels = elements.flatMap(({ tag }) => (/^h[1-4]$/.test(tag) ? Number(tag.slice(1)) : []));
  expect(levels.filter((level, at) => level > (levels[at - 1] ?? 0) + 1)).toEqual([]);
}

/** Returns the value next to a name in a list of facts. */
export function saysOf(elements: readonly Element[], name: string): string | undefined {
  const at = elements.findIndex(({ tag, text }) => tag === 'dt' && text === name);
  return at === -1 ? undefined : elements.slice(at).find(({ tag }) => tag === 'dd')?.text;
}
