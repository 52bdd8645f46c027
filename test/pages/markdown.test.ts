import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CODES_AS_READ, sharedCodesOf } from '../../contract/errors/catalogue.ts';
import { ERROR_TYPES } from '../../contract/errors/record.ts';
import { OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import { EVENT_TYPES } from '../../domain/event.ts';
import { GUIDES, RUNBOOK_GUIDES } from '../../server/pages/guides/guide-list.ts';
import { fakeGateway, type HttpTestServer, startHttpServer } from '../harness/http-server.ts';
import { readPage } from './page-reader.ts';
import { BROWSER } from './use-pages.ts';

const SERVED = OPERATION_IDS.filter((id) => OPERATIONS[id].reach !== 'sandbox');
const PATHS = [
  ...['/guides', '/docs', '/errors', '/events'],
  ...[...GUIDES, ...RUNBOOK_GUIDES].map(({ slug }) => `/guides/${slug}`),
  ...OPERATION_IDS.map((id) => `/docs/${id}`),
  ...CODES_AS_READ.map((code) => `/errors/${code}`),
  ...EVENT_TYPES.map((type) => `/events/${type}`),
];

let sandbox: HttpTestServer;
let live: HttpTestServer;

beforeAll(async () => {
  const never = async () => {
    throw new Error('a page must not need the database');
  };
  sandbox = await startHttpServer(fakeGateway({}, { authenticate: never, findProgram: never, ready: never }));
  live = await startHttpServer(fakeGateway({}, { mode: 'live', keyless: false }));
});

afterAll(() => Promise.all([sandbox, live].map(({ server }) => server.close())));

const ask = (path: string, accept = '*/*', { port } = sandbox): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${path}`, { headers: { Accept: accept } });

/** The budget of a page on the wire, with its style and script. */
const MAX_PAGE_BYTES = 30_000;

/** The Markdown of pages, by path. */
const read = new Map<string, Promise<string>>();

function markdown(path: string): Promise<string> {
  const reading = read.get(path) ?? readMarkdown(path);
  read.set(path, reading);
  return reading;
}

async function readMarkdown(path: string): Promise<string> {
  const answer = await ask(`${path}.md`, BROWSER);
  expect([path, answer.status]).toEqual([path, 200]);
  expect(answer.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  expect(answer.headers.get('cache-control')).toBe('no-cache');
  expect(answer.headers.get('content-encoding')).toBe('gzip');
  return answer.text();
}

/** Returns a text without its listings and code. */
const prose = (text: string): string =>
  text.replaceAll(/^ *```.*?^ *```$|^ {4}\S.*$/gms, '').replaceAll(/``.*?``|`[^`]*`/g, '');

const linksIn = (text: string): readonly string[] =>
  [...prose(text).matchAll(/\]\(([^)\s]*)\)/g)].map(([, link = '']) => link);

describe('the Markdown of a page', () => {
  it.each(PATHS)('%s has its heading, and no markup', async (path) => {
    const text = prose(await markdown(path));
    const answer = await ask(path, BROWSER);
    expect(Number(answer.headers.get('content-length'))).toBeLessThan(MAX_PAGE_BYTES);
    const page = await answer.text();
    const [, heading = ''] = /<h1[^>]*>(.*?)<\/h1>/s.exec(page) ?? [];
    expect(text.match(/^# .*/gm)).toHaveLength(1);
    const title = /^# .*/m.exec(await markdown(path))?.[0] ?? '';
    const shown = heading.replaceAll(/<[^>]*>/g, '').replaceAll('&#39;', "'");
    expect(title.replaceAll(/[`\\]/g, '')).toBe(`# ${shown}`);
    expect(text).not.toMatch(/(?<!\\)<\/?[a-z]|&(?:amp|lt|gt|quot|#39);|\[object/);
    expect(page).toContain(`<link rel="alternate" type="text/markdown" href="${path}.md">`);
  });

  it('has the headings and the listings of the page', async () => {
    for (const path of ['/docs/create_transfer', '/errors/card_closed', '/events/transfer.failed', '/docs']) {
      const elements = readPage(await (await ask(path, BROWSER)).text());
      const text = await markdown(path);
      for (const { tag, text: shown, around } of elements) {
        if (/^h[1-4]$/.test(tag))
          expect(text.replaceAll('`', '')).toContain(`${'#'.repeat(Number(tag[1]))} ${shown}\n`);
        if (tag === 'code' && around.at(-1) === 'pre') expect(text.replaceAll(/\s+/g, ' ')).toContain(shown);
      }
    }
  });

  it('links only to pages that exist, as Markdown where they have it', async () => {
    const wanted = new Set<string>();
    for (const path of PATHS) {
      for (const link of linksIn(await markdown(path))) {
        if (!/^(?:https?:|#)/.test(link)) wanted.add(link.split('#')[0] ?? '');
      }
    }
    expect(wanted.size).toBeGreaterThan(PATHS.length / 2);
    for (const link of wanted) {
      if (/^\/(?:health|console)/.test(link)) continue;
      if (/^\/(?:guides|docs|errors|events)/.test(link)) expect(link).toMatch(/\.(?:md|json)$/);
      expect(`${(await ask(link)).status} ${link}`).toBe(`200 ${link}`);
    }
  });

  it.each(['/errors/nope.md', '/docs/nope.md', '/events/nope.md', '/guides/nope.md', '/docs/.md'])(
    '%s is an error record, even for browsers',
    async (path) => {
      const answer = await ask(path, BROWSER);
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ Code: 'route_not_found' });
    },
  );
});

describe('/llms.txt', () => {
  it.each(['sandbox', 'live'] as const)('lists every guide, operation, shared code and event: %s', async (mode) => {
    const server = mode === 'sandbox' ? sandbox : live;
    const answer = await ask('/llms.txt', '*/*', server);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const text = await answer.text();
    // The format of llmstxt.org: a title, a summary, and lists of links with a note.
    expect(text).toMatch(/^# Transfer Service\n\n> \S.*\n\n/);
    const lists = text.split(/^## .+\n\n/m).slice(1);
    expect(lists.length).toBeGreaterThan(10);
    for (const list of lists)
      expect(
        list
          .trimEnd()
          .split('\n')
          .filter((line) => !/^- \[.+\]\(\S+\): ./.test(line)),
      ).toEqual([]);
    const url = `http://127.0.0.1:${server.port}`;
    const listed = linksIn(text).map((link) => link.replace(url, ''));
    expect(new Set(listed).size).toBe(listed.length);
    const operations = mode === 'sandbox' ? OPERATION_IDS : SERVED;
    expect(listed.filter((link) => link.startsWith('/docs/')).toSorted()).toEqual(
      operations.map((id) => `/docs/${id}.md`).toSorted(),
    );
    expect(listed.filter((link) => link.startsWith('/errors/'))).toEqual(
      ERROR_TYPES.flatMap((type) => sharedCodesOf(type).map((code) => `/errors/${code}.md`)),
    );
    expect(listed.filter((link) => link.startsWith('/events/'))).toEqual(
      EVENT_TYPES.map((type) => `/events/${type}.md`),
    );
    expect(listed.filter((link) => link.startsWith('/guides/'))).toEqual(
      [...GUIDES, ...RUNBOOK_GUIDES].map(({ slug }) => `/guides/${slug}.md`),
    );
    for (const link of listed) expect(`${(await ask(link, '*/*', server)).status} ${link}`).toBe(`200 ${link}`);
  });
});
