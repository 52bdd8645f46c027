import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CatalogueRecord, ERRORS, isErrorCode, operationsWith, resolverOf } from '../../contract/errors/catalogue.ts';
import { exampleRecord } from '../../contract/errors/examples.ts';
import { fieldsOf } from '../../contract/openapi/fields.ts';
import { type ErrorCode, OPERATION_IDS, OPERATIONS, precedenceOf } from '../../contract/operations.ts';
import { DEMO_CARDS, shownStatus } from '../../contract/sandbox/demo-cards.ts';
import { EVENT_TYPES } from '../../domain/event.ts';
import { fakeGateway, type HttpTestServer, startHttpServer } from '../harness/http-server.ts';
import { type Element, readPage } from './page-reader.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';
const CODES = Object.keys(ERRORS).filter(isErrorCode);
const HOSTILE = `<script>alert(1)</script>"'&amp; onfocus=x </style><img src=x> ${'z'.repeat(40)}`;

let running: HttpTestServer;
let live: HttpTestServer;

beforeAll(async () => {
  const never = async () => {
    throw new Error('a page must not need the database');
  };
  running = await startHttpServer(fakeGateway({}, { authenticate: never, findProgram: never, ready: never }));
  const contact = 'https://help.example/?a=1&b="2"<b>';
  live = await startHttpServer(fakeGateway({}, { mode: 'live', keyless: false, supportContact: contact }));
});

afterAll(async () => {
  await Promise.all([running.server.close(), live.server.close()]);
});

async function ask(path: string, accept?: string, { port } = running): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, { headers: accept === undefined ? {} : { Accept: accept } });
}

/** The pages of codes that were read: they are the same each time. */
const pagesOfCodes = new Map<ErrorCode, readonly Element[]>();

async function pageOf(code: ErrorCode): Promise<readonly Element[]> {
  const elements = pagesOfCodes.get(code) ?? (await page(`/errors/${code}`));
  pagesOfCodes.set(code, elements);
  return elements;
}

async function page(path: string, server = running): Promise<readonly Element[]> {
  const answer = await ask(path, BROWSER, server);
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
  return readPage(text);
}

async function data(path: string, accept = 'application/json'): Promise<unknown> {
  const answer = await ask(path, accept);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  return answer.json();
}

const texts = (elements: readonly Element[], tag: string) =>
  elements.filter((element) => element.tag === tag).map(({ text }) => text);

const links = (elements: readonly Element[]) =>
  elements.flatMap(({ attributes }) => attributes.get('href') ?? attributes.get('action') ?? []);

const codesLinked = (elements: readonly Element[]) =>
  links(elements).flatMap((link) => /^\/errors\/([a-z_]+)$/.exec(link)?.[1] ?? []);

/** What holds for every page: one heading, landmarks, a way past the navigation, and names that occur once. */
function expectFrame(elements: readonly Element[]): void {
  for (const tag of ['h1', 'main', 'title', 'style', 'script']) expect(texts(elements, tag)).toHaveLength(1);
  expect(elements.find(({ tag }) => tag === 'html')?.attributes.get('lang')).toBe('en');
  expect(elements.find(({ tag }) => tag === 'a')?.attributes.get('href')).toBe('#content');
  const ids = elements.flatMap(({ attributes }) => attributes.get('id') ?? []);
  expect(new Set(ids).size).toBe(ids.length);
  // One `expect` for all: a page has thousands of attributes.
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

function saysOf(elements: readonly Element[], name: string): string | undefined {
  const at = elements.findIndex(({ tag, text }) => tag === 'dt' && text === name);
  return at === -1 ? undefined : elements.slice(at).find(({ tag }) => tag === 'dd')?.text;
}

describe('the catalogue as pages', () => {
  it.each(CODES)('explains %s', async (code) => {
    const elements = await pageOf(code);
    expectFrame(elements);
    const { status, type, meaning, causes, resolution, moneyMoved, since, sample } = ERRORS[code];
    expect(texts(elements, 'h1')).toEqual([code]);
    expect(texts(elements, 'p')).toEqual(expect.arrayContaining([meaning, resolution, sample.reproduce]));
    expect(texts(elements, 'li')).toEqual(expect.arrayContaining([...causes]));
    expect(saysOf(elements, 'Status')).toMatch(new RegExp(`^${status} [A-Z]`));
    expect(saysOf(elements, 'Type')).toContain(type);
    expect(saysOf(elements, 'Resolved by')).toBe(resolverOf(code));
    expect(saysOf(elements, 'Money moved')).toBe(moneyMoved);
    expect(saysOf(elements, 'Since')).toBe(`version ${since}`);
    const main = texts(elements, 'main').join();
    const record = exampleRecord(code, 'support@example.com');
    expect(main).toContain(JSON.stringify(record, null, 2).replaceAll(/\s+/g, ' '));
    const operations = operationsWith(code);
    if (operations.length > 0) expect(main).toContain(`Sandbox-Provoke: ${code}`);
    if (operations.length > 0 && operations.length < OPERATION_IDS.length) {
      const linked = links(elements).filter((link) => link.startsWith('/docs#'));
      expect(linked).toEqual(operations.map((id) => `/docs#${id}`));
    }
  });

  it('lists every code, each once among the rows, and no other', async () => {
    const elements = await page('/errors');
    expectFrame(elements);
    const listed = elements
      .filter(({ tag, around }) => tag === 'a' && around.at(-1) === 'li')
      .flatMap(({ attributes }) => /^\/errors\/([a-z_]+)$/.exec(attributes.get('href') ?? '')?.[1] ?? []);
    expect([...listed].sort()).toEqual([...CODES].sort());
  });

  it('can be read one code after the other, without leaving any out', async () => {
    const seen: string[] = [];
    let code = codesLinked(await page('/errors')).find((first) => first !== 'unknown_create_transfer');
    const walk = async (from: string): Promise<string | undefined> => {
      seen.push(from);
      if (!isErrorCode(from)) throw new Error(`no code: ${from}`);
      const elements = await pageOf(from);
      const at = elements.findIndex(({ tag, text }) => tag === 'span' && text === 'Next');
      return at === -1 ? undefined : codesLinked(elements.slice(at))[0];
    };
    const rows = (await page('/errors')).filter(({ tag, around }) => tag === 'a' && around.at(-1) === 'li');
    code = rows.flatMap(({ attributes }) => /^\/errors\/([a-z_]+)$/.exec(attributes.get('href') ?? '')?.[1] ?? [])[0];
    while (code !== undefined && seen.length <= CODES.length) code = await walk(code);
    expect([...seen].sort()).toEqual([...CODES].sort());
  });
});

describe('the catalogue as data', () => {
  it('says what the catalogue says, of every code and of nothing else', async () => {
    const all = (await data('/errors.json')) as { readonly data: readonly { readonly code: ErrorCode }[] };
    expect(all.data.map(({ code }) => code)).toEqual(CODES);
    expect(await data('/errors')).toEqual(all);
    const members = fieldsOf(CatalogueRecord).map(({ name }) => name);
    for (const record of all.data) {
      const {
        moneyMoved,
        retryable,
        headers: _headers,
        alsoCalled: _alsoCalled,
        sample,
        ...entry
      } = ERRORS[record.code];
      expect(record).toEqual({
        ...entry,
        code: record.code,
        money_moved: moneyMoved,
        retry: retryable,
        reproduce: sample.reproduce,
        operations: operationsWith(record.code),
      });
      // Only results of a search have a family.
      expect([...Object.keys(record), 'family']).toEqual(members);
    }
  });

  it.each(CODES)('explains %s', async (code) => {
    const record = await data(`/errors/${code}`);
    expect(record).toMatchObject({ code, meaning: ERRORS[code].meaning });
    expect(await data(`/errors/${code}.json`, BROWSER)).toEqual(record);
  });

  it.each([
    ['a browser', BROWSER, true],
    ['nobody in particular', undefined, false],
    ['curl', '*/*', false],
    ['a program', 'application/json', false],
    ['one that likes JSON better', 'text/html;q=0.5, application/json', false],
    ['one that likes HTML better', 'application/json;q=0.5, TEXT/HTML ; q=0.9', true],
    ['one that refuses HTML', 'text/html;q=0, */*', false],
    ['one that refuses HTML among texts', 'text/*, text/html;q=0', false],
    ['one that likes anything better', 'text/html;q=0.5, */*;q=0.8', false],
    ['one that likes anything but JSON', '*/*, application/json;q=0.1, text/html;q=0.5', true],
    ['one that sends nonsense', ';;,q=,text/html;q=many', false],
  ])('chooses by Accept for %s', async (_who, accept, isPage) => {
    for (const path of ['/errors', '/errors/card_closed', '/', '/nope', '/guides/nope']) {
      const answer = await ask(path, accept);
      expect(answer.headers.get('content-type')).toMatch(isPage ? /^text\/html/ : /^application\/json/);
      expect(answer.headers.get('vary')).toBe(path.includes('nope') ? 'Accept' : 'Accept, Accept-Encoding');
    }
  });

  it('answers with the record at a path of data or of the API, to browsers too', async () => {
    for (const path of ['/errors/%3Cb%3E.json', '/guides/nope.md', '/api/v0.1/core/nope', '/v0.1/nope']) {
      const answer = await ask(path, BROWSER);
      expect(answer.status).toBe(404);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(await answer.json()).toMatchObject({ Status: 404, Code: 'route_not_found', Type: 'Request Error' });
    }
  });
});

describe('a path where nothing is', () => {
  it.each([
    ['/nope', 'There is no route at this path.'],
    ['/guides/nope', "There is no guide 'nope'."],
    ['/errors/toString', "There is no error code 'toString'."],
    ['/events/nope', "There is no type of event 'nope'."],
    ['/api', 'There is no route at this path.'],
  ])('%s: a page says what was asked, and where to go on', async (path, message) => {
    const answer = await ask(path, BROWSER);
    expect(answer.status).toBe(404);
    const known = await ask('/guides', BROWSER);
    for (const name of ['content-type', 'content-security-policy', 'referrer-policy', 'x-content-type-options']) {
      expect(answer.headers.get(name), name).toBe(known.headers.get(name));
    }
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('error-code')).toBe('route_not_found');
    expect(answer.headers.get('request-id')).toMatch(/^req_/);
    const elements = readPage(await answer.text());
    const main = elements.find(({ tag }) => tag === 'main');
    expect(main?.text).toContain(path);
    expect(main?.text).toContain(message);
    const links = elements
      .filter(({ around }) => around.includes('dl'))
      .map(({ attributes }) => attributes.get('href'));
    for (const link of ['/guides', '/docs', '/errors', '/console']) expect(links).toContain(link);
  });

  it('shows nothing of a path as markup, and no card number', async () => {
    const answer = await ask(`/${encodeURIComponent(HOSTILE)}/<b>/4532015112830366`, BROWSER);
    const text = await answer.text();
    // Throws where a part of the path is read as markup.
    expect(readPage(text).filter(({ tag }) => tag === 'b' || tag === 'img')).toEqual([]);
    expect(text).not.toContain('4532015112830366');
  });

  it('answers a program, a caller of the API, and another method with the record', async () => {
    const url = `http://127.0.0.1:${running.port}/nope`;
    const asks: readonly RequestInit[] = [
      { headers: { Accept: '*/*' } },
      { headers: { Accept: BROWSER, Authorization: 'Bearer x' } },
      { headers: { Accept: BROWSER, 'Idempotency-Key': 'x' } },
      { headers: { Accept: BROWSER }, method: 'POST' },
    ];
    for (const init of asks) {
      const answer = await fetch(url, init);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(await answer.json()).toMatchObject({ Status: 404, Code: 'route_not_found' });
    }
    const head = await fetch(url, { headers: { Accept: BROWSER }, method: 'HEAD' });
    expect([head.status, head.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  });
});

describe('the search', () => {
  it.each([
    ['card_closed', 'card_closed'],
    ['  CARD_CLOSED ', 'card_closed'],
    ['424', 'service_disabled'],
    ['stolen', 'card_lost'],
    ['no more money lost', 'card_lost'],
    ['idempotency different request', 'idempotency_key_exists'],
    ['minor units', 'invalid_amount'],
    ["The required field 'amount' is missing.", 'create_transfer_schema'],
    ["The card 'employee-7' is closed and cannot receive money.", 'card_closed'],
    [
      '{"Message":"The service is disabled. Please","Status":424,"Code":"service_disabled","Type":"Process Error"}',
      'service_disabled',
    ],
  ])('for %s finds %s', async (query, code) => {
    const path = `?q=${encodeURIComponent(query)}`;
    const elements = await page(`/errors${path}`);
    expectFrame(elements);
    const rows = elements.filter(({ tag, around }) => tag === 'a' && around.at(-1) === 'li');
    const found = codesLinked(rows);
    expect(found[0]).toBe(code);
    const { data: records } = (await data(`/errors.json${path}`)) as { readonly data: readonly CatalogueRecord[] };
    expect(records.flatMap((record) => record.family?.codes ?? [record.code])).toEqual(found);
    expect(records[0]?.code).toBe(code);
    for (const { code: first, family } of records) expect(family?.codes[0] ?? first).toBe(first);
    expect(elements.find(({ tag }) => tag === 'input')?.attributes.get('value')).toBe(query);
  });

  it('shows a family as one result, with its form and its codes', async () => {
    const elements = await page('/errors?q=bad+json');
    expectFrame(elements);
    expect(links(elements)).toContain('/errors#family-schema');
    expect(texts(elements, 'h3')).toEqual(['<operation>_schema (400)']);
    expect(texts(elements, 'main').join()).toContain('1 result.');
    const { data: records } = (await data('/errors.json?q=bad+json')) as { readonly data: readonly CatalogueRecord[] };
    expect(records).toMatchObject([{ code: 'create_transfer_schema', family: { pattern: '<operation>_schema' } }]);
    expect(records[0]?.family?.codes).toEqual(codesLinked(elements.filter(({ around }) => around.at(-1) === 'li')));
  });

  it('says so when nothing fits, and leads on', async () => {
    const elements = await page('/errors?q=xylophone');
    expectFrame(elements);
    expect(texts(elements, 'h2')).toContain('Nothing found');
    expect(links(elements)).toContain('/errors');
  });

  it('tells the id of a request from a code', async () => {
    const elements = await page('/errors?q=req_0196f5c2d9a27c3e8b1f4a6d7e905b13');
    expect(texts(elements, 'main').join()).toContain('is the id of one request');
    expect(links(elements)).toContain('/console/request/req_0196f5c2d9a27c3e8b1f4a6d7e905b13');
  });

  it.each([
    ['markup', HOSTILE],
    ['quotes', `"><a href="javascript:x">`],
    ['entities', '&lt;&#x3c;&quot;'],
    ['a template', '$' + '{1+1} {{1+1}}'],
    ['controls', '\u0000\u0001\u202e\u2028'],
    ['a lone surrogate', 'a\ud800b'],
    ['much', '<'.repeat(1_500)],
  ])('shows hostile input as text: %s', async (_what, query) => {
    const elements = await page(`/errors?q=${encodeURIComponent(query.toWellFormed())}`);
    expectFrame(elements);
    expect(elements.find(({ tag }) => tag === 'input')?.attributes.get('value')).toBe(query.toWellFormed());
    for (const link of links(elements)) expect(link).toMatch(/^(#|\/)/);
  });

  it.each(['?q=%zz', '?q=%ff', '?q=card&q=amount', '?q', '?', '?x=1', '?q=+++'])(
    'takes a broken query: %s',
    async (query) => {
      expectFrame(await page(`/errors${query}`));
    },
  );
});

describe('the API reference', () => {
  const idsIn = (elements: readonly Element[], tag: string) =>
    elements.flatMap((element) => (element.tag === tag ? (element.attributes.get('data-of') ?? []) : []));
  const OF_LIVE = OPERATION_IDS.filter((id) => OPERATIONS[id].reach !== 'sandbox');

  it('has every operation, its fields, its reply and its errors in order', async () => {
    const elements = await page('/docs');
    expectFrame(elements);
    expect(idsIn(elements, 'section')).toEqual(OPERATION_IDS);
    for (const id of OPERATION_IDS) {
      const { method, path, summary, body, query, reply } = OPERATIONS[id];
      const start = elements.findIndex(({ attributes }) => attributes.get('aria-labelledby') === id);
      const rest = elements.slice(start + 1);
      const end = rest.findIndex(({ attributes }) => attributes.get('class') === 'operation');
      const own = end === -1 ? rest : rest.slice(0, end);
      expect(elements[start]?.text).toContain(summary);
      expect(texts(own, 'p')[0]).toBe(`${method}${path}`);
      expect(codesLinked(own)).toEqual(precedenceOf(id));
      const names = texts(own, 'dt').map((text) => text.split(' ')[0]);
      for (const schema of [body, query, reply]) {
        for (const { name } of schema === undefined ? [] : fieldsOf(schema)) expect(names).toContain(name);
      }
    }
    // No field of any operation is left without a description.
    const lists = elements.filter(({ tag, around }) => tag === 'dd' && around.includes('section'));
    expect(lists.filter(({ text }) => text === '')).toEqual([]);
  });

  it('leads to every operation by its name, and by its path and method', async () => {
    const elements = await page('/docs');
    const rows = elements.flatMap(({ tag, attributes, text }) =>
      tag === 'li' && attributes.has('data-find') ? [{ id: attributes.get('data-of'), text }] : [],
    );
    expect(rows.map(({ id }) => id).toSorted()).toEqual(OPERATION_IDS.toSorted());
    for (const { id, text } of rows) {
      const { method, path, summary } = OPERATIONS[id as (typeof OPERATION_IDS)[number]];
      expect(text).toBe(`${method} ${path} ${summary}`);
    }
    const paths = rows.map(({ text }) => text.split(' ')[1]);
    expect(paths).toEqual(paths.toSorted());
    const linked = links(elements);
    for (const id of OPERATION_IDS) expect(linked.filter((link) => link === `#${id}`)).toHaveLength(2);
  });

  it.each([
    ['capture', ['capture_transfer']],
    ['LIST HOLD', ['list_cards', 'list_holds']],
    ['/api/v0.1/core/transfer/{transfer_id}/capture', ['capture_transfer']],
    ['delete', ['delete_webhook', 'delete_operator_webhook', 'delete_session']],
  ])('shows without a script the operations that match %s', async (query, expected) => {
    const elements = await page(`/docs?q=${encodeURIComponent(query)}`);
    expectFrame(elements);
    expect(idsIn(elements, 'section')).toEqual(expect.arrayContaining(expected));
    expect(idsIn(elements, 'section').length).toBeLessThan(8);
    for (const tag of ['li', 'section'])
      expect(new Set(idsIn(elements, tag))).toEqual(new Set(idsIn(elements, 'section')));
    expect(elements.find(({ tag }) => tag === 'input')?.attributes.get('value')).toBe(query);
    expect(links(elements)).toContain('/docs');
  });

  it.each(['xylophone', HOSTILE])('says so when no operation matches: %s', async (query) => {
    const elements = await page(`/docs?q=${encodeURIComponent(query)}`);
    expectFrame(elements);
    expect(texts(elements, 'h2')).toEqual(['Nothing found']);
    for (const link of links(elements)) expect(link).toMatch(/^(#|\/)/);
  });

  it('of a live service has examples for it, with a key, and nothing of the sandbox', async () => {
    const elements = await page('/docs', live);
    expectFrame(elements);
    expect(idsIn(elements, 'section')).toEqual(OF_LIVE);
    const requests = texts(elements, 'code').filter((text) => text.startsWith('curl ') && !text.includes('/health/'));
    expect(requests.length).toBeGreaterThan(OF_LIVE.length);
    for (const request of requests) {
      expect(request).toContain(`http://127.0.0.1:${live.port}/`);
      expect(request).toContain('-H "Authorization: Bearer $TRANSFER_SERVICE_KEY"');
    }
    expect(texts(elements, 'main').join()).not.toMatch(/Sandbox-Provoke|\/sandbox\//);
  });

  it('is served as an OpenAPI document too', async () => {
    const document = (await data('/openapi.json')) as {
      readonly openapi: string;
      readonly paths: Record<string, object>;
    };
    expect(document.openapi).toMatch(/^3\.1\./);
    for (const id of OPERATION_IDS) {
      const { method, path } = OPERATIONS[id];
      expect(document.paths[path]).toHaveProperty([method.toLowerCase(), 'operationId'], id);
    }
  });
});

describe('every page', () => {
  it.each([
    ['sandbox', () => running],
    ['live service', () => live],
  ])('of a %s links only to what is there', async (_mode, serverOf) => {
    const server = serverOf();
    const paths = [
      ...['/', '/errors', '/errors?q=card', '/docs', '/docs?q=card', '/events', '/events?q=card', '/guides'],
      ...CODES.map((code) => `/errors/${code}`),
      ...EVENT_TYPES.map((type) => `/events/${type}`),
    ];
    const anchors = new Map<string, ReadonlySet<string>>();
    const wanted = new Set<string>();
    for (const path of paths) {
      const elements = await page(path, server);
      anchors.set(path, new Set(elements.flatMap(({ attributes }) => attributes.get('id') ?? [])));
      for (const link of links(elements)) wanted.add(link.startsWith('#') ? path + link : link);
    }
    for (const link of wanted) {
      const [path = '', anchor] = link.split('#');
      if (anchor === undefined && !anchors.has(path) && path !== '/health/ready') {
        expect(`${(await ask(path, BROWSER, server)).status} ${link}`).toBe(`200 ${link}`);
      }
      if (anchor !== undefined) expect(anchors.get(path) ?? `no page ${path}`).toContain(anchor);
    }
  });

  it('of a live service shows its contact as text and sends commands to a sandbox', async () => {
    const elements = await page('/errors/service_disabled', live);
    expectFrame(elements);
    expect(texts(elements, 'footer').join()).toContain('Support: https://help.example/?a=1&b="2"<b>.');
    expect(texts(elements, 'main').join()).toContain('curl http://localhost:8080/');
    expect(texts(elements, 'main').join()).toContain('This service runs in live mode');
  });
});

describe('the first page', () => {
  it('of a sandbox has the first transfer, the first error and the demo cards, to be copied', async () => {
    const elements = await page('/');
    expectFrame(elements);
    const commands = texts(elements, 'code').filter((text) => text.startsWith('curl '));
    expect(commands.length).toBeGreaterThanOrEqual(2);
    for (const command of commands)
      expect(command).toContain(`http://127.0.0.1:${running.port}/api/v0.1/core/transfer`);
    expect(codesLinked(elements)).toContain('card_closed');
    const rows = elements.filter(({ tag, text }) => tag === 'li' && text.startsWith('card_')).map(({ text }) => text);
    for (const [at, card] of DEMO_CARDS.entries()) {
      expect(rows[at]).toMatch(new RegExp(`^${card.name} `));
      expect(rows[at]).toContain(shownStatus(card));
      expect(rows[at]?.toLowerCase()).toContain(card.purpose.toLowerCase());
      if (card.refuses !== undefined) expect(rows[at]).toContain(card.refuses.code);
      const copied = elements.flatMap(({ attributes }) => attributes.get('data-copy') ?? []);
      expect(copied).toContain(card.name);
    }
    expect(rows[0]).toContain('250.00 USD');
  });

  it('of a live service has no demo, and a first request that moves nothing', async () => {
    const elements = await page('/', live);
    expectFrame(elements);
    const main = texts(elements, 'main').join();
    expect(main).not.toContain('card_active');
    expect(main).toContain(`http://127.0.0.1:${live.port}${OPERATIONS.get_session.path}`);
    expect(main).toContain('-H "Authorization: Bearer $TRANSFER_SERVICE_KEY"');
    for (const link of ['/docs', '/errors', '/events', '/console', '/guides', '/health/ready']) {
      expect(links(elements)).toContain(link);
    }
  });

  it.each(['/', '/docs', '/errors/card_closed'])('has a hidden button beside each listing of %s', async (path) => {
    const elements = await page(path);
    const buttons = elements.filter(({ attributes }) => attributes.get('class') === 'copy');
    const listings = elements.filter(({ tag }) => tag === 'figure');
    expect(buttons.length).toBeGreaterThanOrEqual(listings.length);
    for (const { attributes } of buttons) {
      expect([attributes.has('hidden'), attributes.get('type')]).toEqual([true, 'button']);
      expect(attributes.get('aria-label')).toMatch(/^Copy: /);
    }
    expect(elements.find(({ attributes }) => attributes.get('id') === 'said')?.attributes.get('role')).toBe('status');
  });
});
