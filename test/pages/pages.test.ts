import { describe, expect, it } from 'vitest';
import {
  CatalogueRecord,
  ERRORS,
  familyOf,
  isErrorCode,
  operationsWith,
  resolverOf,
  supportAdvice,
} from '../../contract/errors/catalogue.ts';
import { exampleRecord } from '../../contract/errors/examples.ts';
import { fieldsOf } from '../../contract/openapi/fields.ts';
import { type ErrorCode, OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import { DEMO_CARDS, shownStatus } from '../../contract/sandbox/demo-cards.ts';
import { EVENT_TYPES } from '../../domain/event.ts';
import { type Element, readPage } from './page-reader.ts';
import { BROWSER, codesLinked, expectFrame, HOSTILE, links, saysOf, texts, usePages } from './use-pages.ts';

const CODES = Object.keys(ERRORS).filter(isErrorCode);

const { urlOf, ask, page, data } = usePages();

/** The pages of codes that have already been read. */
const pagesOfCodes = new Map<ErrorCode, readonly Element[]>();

async function pageOf(code: ErrorCode): Promise<readonly Element[]> {
  const elements = pagesOfCodes.get(code) ?? (await page(`/errors/${code}`));
  pagesOfCodes.set(code, elements);
  return elements;
}

describe('the catalog as pages', () => {
  it.each(CODES)('explains %s', async (code) => {
    const elements = await pageOf(code);
    expectFrame(elements);
    const { status, type, meaning, causes, resolution, moneyMoved, since, sample } = ERRORS[code];
    expect(texts(elements, 'h1')).toEqual([code]);
    expect(texts(elements, 'p')).toEqual(expect.arrayContaining([meaning, resolution, sample.reproduce]));
    expect(texts(elements, 'h2')).toContain('For support');
    const { next, tell } = supportAdvice(ERRORS[code]);
    expect(texts(elements, 'dd')).toEqual(expect.arrayContaining([next, tell]));
    expect(texts(elements, 'li')).toEqual(expect.arrayContaining([...causes]));
    expect(saysOf(elements, 'Status')).toMatch(new RegExp(`^${status} [A-Z]`));
    expect(saysOf(elements, 'Type')).toContain(type);
    expect(saysOf(elements, 'Resolved by')).toBe(resolverOf(code));
    expect(saysOf(elements, 'Money moved')).toBe(moneyMoved === 'no' ? 'no' : 'no, unknown or yes');
    expect(saysOf(elements, 'Since')).toBe(`version ${since}`);
    const main = texts(elements, 'main').join();
    const record = exampleRecord(code, 'support@example.com');
    expect(main).toContain(JSON.stringify(record, null, 2).replaceAll(/\s+/g, ' '));
    const operations = operationsWith(code);
    if (operations.length > 0) expect(main).toContain(`Sandbox-Provoke: ${code}`);
    if (operations.length > 0 && operations.length < OPERATION_IDS.length) {
      const linked = links(elements).filter((link) => link.startsWith('/docs/'));
      expect(linked).toEqual(operations.map((id) => `/docs/${id}`));
    }
  });

  it('lists exactly the codes, each once', async () => {
    const elements = await page('/errors');
    expectFrame(elements);
    const listed = elements
      .filter(({ tag, around }) => tag === 'a' && around.at(-1) === 'li')
      .flatMap(({ attributes }) => /^\/errors\/([a-z_]+)$/.exec(attributes.get('href') ?? '')?.[1] ?? []);
    expect([...listed].sort()).toEqual([...CODES].sort());
  });

  it('begins with the codes that people see, and links every code that operations share', async () => {
    const elements = await page('/errors');
    const linked = codesLinked(elements.filter(({ tag, around }) => tag === 'a' && around.at(-1) === 'dd'));
    const shared = CODES.filter((code) => familyOf(code) === undefined);
    expect([...linked].sort()).toEqual([...shared].sort());
    const headings = texts(elements, 'h2');
    expect(headings.indexOf('A transfer was declined')).toBe(0);
    expect(headings.at(-1)).toBe('All codes');
    // The list of codes that every operation can return is collapsed.
    const folded = codesLinked(elements.filter(({ around }) => around.includes('details')));
    expect([...folded].sort()).toEqual(CODES.filter((code) => familyOf(code) !== undefined).toSorted());
  });

  it('can be read one code after another, without a gap', async () => {
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

describe('the catalog as data', () => {
  it('matches the catalog for every code', async () => {
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
        problem: _problem,
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
        support: supportAdvice(ERRORS[record.code]),
      });
      // Only search results have a family.
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
    ['no preference', undefined, false],
    ['curl', '*/*', false],
    ['a program', 'application/json', false],
    ['a client that prefers JSON', 'text/html;q=0.5, application/json', false],
    ['a client that prefers HTML', 'application/json;q=0.5, TEXT/HTML ; q=0.9', true],
    ['a client that refuses HTML', 'text/html;q=0, */*', false],
    ['a client that accepts any text except HTML', 'text/*, text/html;q=0', false],
    ['a client that prefers any type', 'text/html;q=0.5, */*;q=0.8', false],
    ['a client that accepts anything but JSON', '*/*, application/json;q=0.1, text/html;q=0.5', true],
    ['a client that sends nonsense', ';;,q=,text/html;q=many', false],
  ])('chooses between the page and the data by the Accept header of %s', async (_who, accept, isPage) => {
    for (const path of ['/errors', '/errors/card_closed', '/', '/nope', '/guides/nope']) {
      const answer = await ask(path, accept);
      expect(answer.headers.get('content-type')).toMatch(isPage ? /^text\/html/ : /^application\/json/);
      expect(answer.headers.get('vary')).toBe(path.includes('nope') ? 'Accept' : 'Accept, Accept-Encoding');
    }
  });

  it('returns the record at a path of data or of the API, even to browsers', async () => {
    for (const path of ['/errors/%3Cb%3E.json', '/guides/nope.md', '/api/v0.1/core/nope', '/v0.1/nope']) {
      const answer = await ask(path, BROWSER);
      expect(answer.status).toBe(404);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(await answer.json()).toMatchObject({ Status: 404, Code: 'route_not_found', Type: 'Request Error' });
    }
  });
});

describe('an unknown path', () => {
  it.each([
    ['/nope', 'See the API reference at /docs.'],
    ['/guides/nope', "There is no guide 'nope'."],
    ['/errors/toString', "There is no error code 'toString'."],
    ['/events/nope', "There is no type of event 'nope'."],
    ['/docs/nope', "There is no operation 'nope'."],
    ['/api', 'See the API reference at /docs.'],
  ])('%s gets a page with the path, the reason and links', async (path, message) => {
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

  it('never appears as markup on its page, and its card numbers are hidden', async () => {
    const answer = await ask(`/${encodeURIComponent(HOSTILE)}/<b>/4532015112830366`, BROWSER);
    const text = await answer.text();
    // Reading the page fails if any part of the path is markup.
    expect(readPage(text).filter(({ tag }) => tag === 'b' || tag === 'img')).toEqual([]);
    expect(text).not.toContain('4532015112830366');
  });

  it('gets the error record for an application, an API caller or a method other than GET', async () => {
    const url = `${urlOf()}/nope`;
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

describe('every page', () => {
  it.each(['sandbox', 'live'] as const)('has only working links: %s', async (mode) => {
    const paths = [
      ...['/', '/errors', '/errors?q=card', '/docs', '/docs?q=card', '/events', '/events?q=card', '/guides'],
      ...['/search', '/search?q=card', '/search?q=json', '/search?q=webhook+signature'],
      ...OPERATION_IDS.filter((id) => mode === 'sandbox' || OPERATIONS[id].reach !== 'sandbox').map(
        (id) => `/docs/${id}`,
      ),
      ...CODES.map((code) => `/errors/${code}`),
      ...EVENT_TYPES.map((type) => `/events/${type}`),
    ];
    const anchors = new Map<string, ReadonlySet<string>>();
    const read = async (path: string): Promise<readonly Element[]> => {
      const elements = await page(path, mode);
      anchors.set(path, new Set(elements.flatMap(({ attributes }) => attributes.get('id') ?? [])));
      return elements;
    };
    const wanted = new Set<string>();
    for (const path of paths) {
      const elements = await read(path);
      for (const link of links(elements)) wanted.add(link.startsWith('#') ? path + link : link);
    }
    for (const link of wanted) {
      const [path = '', anchor] = link.split('#');
      if (anchor === undefined && !anchors.has(path) && path !== '/health/ready') {
        expect(`${(await ask(path, BROWSER, mode)).status} ${link}`).toBe(`200 ${link}`);
      }
      if (anchor === undefined) continue;
      if (!anchors.has(path)) await read(path);
      expect(anchors.get(path), link).toContain(anchor);
    }
  });

  it('shows the contact as text, and if the service is live, its commands call a sandbox', async () => {
    const elements = await page('/errors/service_disabled', 'live');
    expectFrame(elements);
    expect(texts(elements, 'footer').join()).toContain('Support: https://help.example/?a=1&b="2"<b>.');
    expect(texts(elements, 'main').join()).toContain('curl http://localhost:8080/');
    expect(texts(elements, 'main').join()).toContain('This service runs in live mode');
  });
});

describe('the first page', () => {
  it('in a sandbox, shows the first transfer, the first error and the demo cards to copy', async () => {
    const elements = await page('/');
    expectFrame(elements);
    const commands = texts(elements, 'code').filter((text) => text.startsWith('curl '));
    expect(commands.length).toBeGreaterThanOrEqual(2);
    const responses = texts(elements, 'code').filter((text) => text.startsWith('{ "'));
    expect(JSON.parse(responses[0] ?? '')).toMatchObject({ amount: 1000, card_id: 'card_active', status: 'completed' });
    expect(JSON.parse(responses[1] ?? '')).toMatchObject({ Code: 'card_closed' });
    expect(await (await ask('/', BROWSER)).text()).toMatch(/<svg [^>]*role="img"[^>]*>\s*<title/);
    for (const command of commands) expect(command).toContain(`${urlOf()}/api/v0.1/core/transfer`);
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

  it('in live mode, shows no demo, and a first request that moves nothing', async () => {
    const elements = await page('/', 'live');
    expectFrame(elements);
    const main = texts(elements, 'main').join();
    expect(main).not.toContain('card_active');
    expect(main).toContain(urlOf('live') + OPERATIONS.get_session.path);
    expect(main).toContain('-H "Authorization: Bearer $TRANSFER_SERVICE_KEY"');
    for (const link of ['/docs', '/errors', '/events', '/console', '/guides', '/health/ready']) {
      expect(links(elements)).toContain(link);
    }
  });

  it.each(['/', '/docs/create_transfer', '/errors/card_closed'])(
    'has a hidden copy button next to each listing of %s',
    async (path) => {
      const elements = await page(path);
      const buttons = elements.filter(({ attributes }) => attributes.get('class') === 'copy');
      const listings = elements.filter(({ tag }) => tag === 'figure');
      expect(buttons.length).toBeGreaterThanOrEqual(listings.length);
      for (const { attributes } of buttons) {
        expect([attributes.has('hidden'), attributes.get('type')]).toEqual([true, 'button']);
        expect(attributes.get('aria-label')).toMatch(/^Copy: /);
      }
      expect(elements.find(({ attributes }) => attributes.get('id') === 'said')?.attributes.get('role')).toBe('status');
    },
  );
});
