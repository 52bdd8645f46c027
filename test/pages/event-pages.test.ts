import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EVENT_CATALOGUE, EventTypeRecord, exampleEvent } from '../../contract/events/catalogue.ts';
import { causingCommands, readingCommand, undoingCommands } from '../../contract/events/examples.ts';
import { fieldsOf } from '../../contract/openapi/fields.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { EVENT_TYPES } from '../../domain/event.ts';
import { fakeGateway, type HttpTestServer, startHttpServer } from '../harness/http-server.ts';
import { type Element, readPage } from './page-reader.ts';

const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8';

let running: HttpTestServer;

beforeAll(async () => {
  const never = async () => {
    throw new Error('a page must not need the database');
  };
  running = await startHttpServer(fakeGateway({}, { authenticate: never, findProgram: never, ready: never }));
});

afterAll(() => running.server.close());

const ask = (path: string, accept = BROWSER) =>
  fetch(`http://127.0.0.1:${running.port}${path}`, { headers: { Accept: accept } });

async function page(path: string): Promise<readonly Element[]> {
  const answer = await ask(path);
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(answer.headers.get('vary')).toBe('Accept, Accept-Encoding');
  return read(await answer.text());
}

/** Returns the elements of a page without its drawings. */
const read = (text: string) => readPage(text.replaceAll(/<svg.*?<\/svg>/gs, ''));

async function data(path: string, accept = 'application/json'): Promise<unknown> {
  const answer = await ask(path, accept);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  return answer.json();
}

const texts = (elements: readonly Element[], tag: string) =>
  elements.filter((element) => element.tag === tag).map(({ text }) => text);

/** Returns the types in links of list rows. */
const listed = (elements: readonly Element[]) =>
  elements
    .filter(({ tag, around }) => tag === 'a' && around.at(-1) === 'li')
    .flatMap(({ attributes }) => /^\/events\/([a-z._]+)$/.exec(attributes.get('href') ?? '')?.[1] ?? []);

/** Returns the text without white space and code marks. */
const plain = (text: string) => text.replaceAll('`', '').replaceAll(/\s+/g, ' ').trim();

describe('the catalog of events as pages', () => {
  it.each(EVENT_TYPES)('explains %s', async (type) => {
    const elements = await page(`/events/${type}`);
    expect(texts(elements, 'h1')).toEqual([type]);
    const { summary, sent, notes, data: schema, sample } = EVENT_CATALOGUE[type];
    const main = plain(texts(elements, 'main').join());
    for (const sentence of [summary, ...sent, ...notes, sample.reproduce]) expect(main).toContain(plain(sentence));
    expect(main).toContain(plain(JSON.stringify(exampleEvent(type), null, 2)));
    const base = `http://127.0.0.1:${running.port}`;
    const reading = readingCommand(type, base) ?? 'only sent to a webhook';
    for (const command of [...causingCommands(type, base), reading, ...undoingCommands(type, base)])
      expect(main).toContain(plain(command));
    const names = texts(elements, 'dt');
    for (const { name } of fieldsOf(schema)) expect(names.some((text) => text.startsWith(name))).toBe(true);
  });

  it('lists every type once', async () => {
    expect(listed(await page('/events')).toSorted()).toEqual(EVENT_TYPES.toSorted());
  });

  it('can be read one type after another', async () => {
    const seen: string[] = [];
    let type: string | undefined = EVENT_TYPES[0];
    while (type !== undefined && seen.length <= EVENT_TYPES.length) {
      seen.push(type);
      const elements = await page(`/events/${type}`);
      const at = elements.findIndex(({ tag, text }) => tag === 'span' && text === 'Next');
      const next = at === -1 ? undefined : elements.slice(at).find(({ tag }) => tag === 'a');
      type = next?.attributes.get('href')?.split('/').at(-1);
    }
    expect(seen).toEqual([...EVENT_TYPES]);
  });

  it('is linked from the first page, the reference and the errors', async () => {
    for (const path of ['/', '/docs', '/errors', '/events']) {
      const elements = await page(path).catch(async () => read(await (await ask(path)).text()));
      const main = elements.slice(elements.findIndex(({ tag }) => tag === 'main'));
      const links = main.flatMap(({ attributes }) => attributes.get('href') ?? []);
      expect(links.some((link) => link.startsWith('/events'))).toBe(true);
    }
  });

  it('shows commands that read events, with the right operations', () => {
    const commands = EVENT_TYPES.flatMap((type) => readingCommand(type, 'http://localhost:8080') ?? []);
    expect(commands).toHaveLength(EVENT_TYPES.length - 1);
    for (const command of commands) {
      const { pathname } = new URL(/http[^'?]*/.exec(command)?.[0] ?? '');
      expect([OPERATIONS.list_events.path, OPERATIONS.search_events.path]).toContain(pathname);
    }
  });
});

describe('the catalog of events as data', () => {
  it('matches the catalog', async () => {
    const all = (await data('/events.json')) as { readonly data: readonly EventTypeRecord[] };
    expect(all.data.map(({ type }) => type)).toEqual([...EVENT_TYPES]);
    expect(await data('/events')).toEqual(all);
    for (const record of all.data) {
      expect(Object.keys(record)).toEqual(fieldsOf(EventTypeRecord).map(({ name }) => name));
      expect(await data(`/events/${record.type}`)).toEqual(record);
      expect(await data(`/events/${record.type}.json`, BROWSER)).toEqual(record);
    }
  });

  it.each(['/events/nothing', '/events/transfer.failed.html', '/events/%3Cb%3E.json', '/events/toString'])(
    'responds to an unknown type with the record: %s',
    async (path) => {
      const answer = await ask(path, 'application/json');
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ Status: 404, Code: 'route_not_found' });
    },
  );
});

describe('the search for events', () => {
  it.each([
    ['transfer.failed', 'transfer.failed'],
    ['TRANSFER.FAILED', 'transfer.failed'],
    ['expired', 'transfer.expired'],
    ['hold released', 'transfer.expired'],
    ['funds below threshold', 'funding.low'],
    ['transfers disabled', 'switch.changed'],
    ['url fails', 'webhook.failing'],
    ['gone', 'webhook.disabled'],
    ['refund', undefined],
    ['reverse_transfer', 'reversal.completed'],
    ['server error', 'error.recorded'],
    ['roll', 'key.rolled'],
  ])('for %s finds %s', async (query, type) => {
    const path = `?q=${encodeURIComponent(query)}`;
    const elements = await page(`/events${path}`);
    const found = listed(elements);
    expect(found[0]).toBe(type);
    expect(found.length).toBeLessThan(EVENT_TYPES.length / 2);
    const all = (await data(`/events.json${path}`)) as { readonly data: readonly EventTypeRecord[] };
    expect(all.data.map((record) => record.type)).toEqual(found);
    expect(elements.find(({ tag }) => tag === 'input')?.attributes.get('value')).toBe(query);
  });

  it.each([
    `<script>alert(1)</script>"'&amp; onfocus=x </style><img src=x>`,
    `"><a href="javascript:x">`,
    '\u0000\u202e\u2028',
    '<'.repeat(1_500),
  ])('shows hostile input as plain text', async (query) => {
    const elements = await page(`/events?q=${encodeURIComponent(query)}`);
    expect(elements.find(({ tag }) => tag === 'input')?.attributes.get('value')).toBe(query);
    for (const { attributes } of elements) expect(attributes.get('href') ?? '/').toMatch(/^(#|\/)/);
  });
});
