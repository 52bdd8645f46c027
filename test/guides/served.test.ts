import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GUIDES, RUNBOOK_GUIDES } from '../../server/pages/guides/guide-list.ts';
import { fakeGateway, type HttpTestServer, startHttpServer } from '../harness/http-server.ts';
import { type Element, readPage } from '../pages/page-reader.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const ALL = [...GUIDES, ...RUNBOOK_GUIDES];

let running: HttpTestServer;

beforeAll(async () => {
  const never = async () => {
    throw new Error('a guide must not need a key or the database');
  };
  running = await startHttpServer(fakeGateway({}, { authenticate: never, findProgram: never, ready: never }));
});

afterAll(() => running.server.close());

async function ask(path: string, accept = '*/*'): Promise<Response> {
  return fetch(`http://127.0.0.1:${running.port}${path}`, { headers: { Accept: accept } });
}

/** The pages that have already been read. */
const pages = new Map<string, Promise<readonly Element[]>>();

function page(path: string): Promise<readonly Element[]> {
  const reading = pages.get(path) ?? read(path);
  pages.set(path, reading);
  return reading;
}

async function read(path: string): Promise<readonly Element[]> {
  const answer = await ask(path, 'text/html');
  expect(answer.status, path).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(answer.headers.get('vary')).toContain('Accept');
  return readPage((await answer.text()).replaceAll(/<svg.*?<\/svg>/gs, ''));
}

const textsOf = (elements: readonly Element[], tag: string) =>
  elements.filter((element) => element.tag === tag).map(({ text }) => text);

const linksOf = (elements: readonly Element[]) =>
  elements.flatMap(({ tag, attributes }) => (tag === 'a' ? (attributes.get('href') ?? []) : []));

describe.each(ALL)('/guides/$slug', ({ slug, file }) => {
  it('is a page with the title of its file, one heading, and unique ids', async () => {
    const elements = await page(`/guides/${slug}`);
    const [, title = ''] = /^# (.*)$/m.exec(readFileSync(join(ROOT, file), 'utf8')) ?? [];
    expect(textsOf(elements, 'h1')).toEqual([title.replaceAll('`', '')]);
    const ids = elements.flatMap(({ attributes }) => attributes.get('id') ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    const levels = elements.flatMap(({ tag }) => (/^h[1-4]$/.test(tag) ? Number(tag.slice(1)) : []));
    expect(levels.filter((level, at) => level > (levels[at - 1] ?? 0) + 1)).toEqual([]);
  });

  it('contains no Markdown', async () => {
    const elements = await page(`/guides/${slug}`);
    const prose = elements.filter(({ tag }) => ['p', 'li', 'td'].includes(tag)).map(({ text }) => text);
    expect(prose.filter((text) => /\]\(|```|<!--/.test(text))).toEqual([]);
  });

  it('is sent as Markdown to clients other than browsers', async () => {
    for (const answer of [await ask(`/guides/${slug}`), await ask(`/guides/${slug}.md`, 'text/html')]) {
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
      const text = await answer.text();
      expect(text).toMatch(/^# /m);
      expect(text).not.toMatch(/<!--|```mermaid/);
    }
  });
});

describe('the guides', () => {
  it('are listed in the order of the navigation, which every guide has', async () => {
    const paths = GUIDES.map(({ slug }) => `/guides/${slug}`);
    const list = linksOf(await page('/guides')).filter((link) => link.startsWith('/guides/'));
    expect(list.filter((link) => !link.endsWith('.json'))).toEqual(paths);
    const links = linksOf(await page(paths[0] ?? ''));
    expect(links.filter((link) => paths.includes(link)).slice(0, paths.length)).toEqual(paths);
    const { data } = (await (await ask('/guides')).json()) as { data: readonly { path: string }[] };
    expect(data.map(({ path }) => path)).toEqual(paths);
  });

  it('link each guide to the next one', async () => {
    const seen: string[] = [];
    let next: string | undefined = `/guides/${GUIDES[0]?.slug}`;
    while (next !== undefined) {
      seen.push(next);
      const elements = await page(next);
      const at = elements.findIndex(({ tag, text }) => tag === 'span' && text === 'Next');
      next = at === -1 ? undefined : linksOf(elements.slice(at))[0];
    }
    expect(seen).toEqual(GUIDES.map(({ slug }) => `/guides/${slug}`));
  });

  it('are linked from the first page', async () => {
    const links = linksOf(await page('/'));
    expect(links.filter((link) => link === '/guides').length).toBeGreaterThan(1);
  });

  it('respond to an unknown guide with an error record, or with a page for a browser, that names the list', async () => {
    for (const path of ['/guides/nope', '/guides/nope.md', '/guides/runbook/nope', '/guides/constructor']) {
      const answer = await ask(path);
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({
        Code: 'route_not_found',
        Message: expect.stringContaining('/guides'),
      });
      const shown = await ask(path, 'text/html');
      expect(shown.status).toBe(404);
      expect(shown.headers.get('content-type')).toBe(
        path.endsWith('.md') ? 'application/json; charset=utf-8' : 'text/html; charset=utf-8',
      );
      expect(await shown.text()).toContain('See /guides for all guides.');
    }
    expect((await ask('/guides/..%2F..%2Fpackage.json')).status).toBe(404);
  });

  it('are also served at the paths that messages, headers and alerts name', async () => {
    for (const { slug, file } of RUNBOOK_GUIDES) {
      expect(textsOf(await page(`/${file}`), 'h1')).toEqual(textsOf(await page(`/guides/${slug}`), 'h1'));
      expect(await (await ask(`/${file}`)).text()).toBe(await (await ask(`/guides/${slug}.md`)).text());
    }
  });

  it('let readers copy only the typed part of a terminal listing', async () => {
    const copied = (await page('/guides/quickstart')).flatMap(({ attributes }) => attributes.get('data-copy') ?? []);
    expect(copied).toContain(
      `curl localhost:8080/api/v0.1/core/card/ada`.replace('localhost:8080', `127.0.0.1:${running.port}`),
    );
    expect(copied.filter((text) => /^\$ |^[{…]|^HTTP/m.test(text))).toEqual([]);
  });

  it('show the address of the sandbox that serves them', async () => {
    const shown = textsOf(await page('/guides/transfers'), 'pre').join('\n');
    expect(shown).toContain(`http://127.0.0.1:${running.port}/api/v0.1/core`);
    expect(shown).not.toContain('localhost:8080');
  });

  it('show the picture with its text, without styles and scripts that the pages forbid', async () => {
    const text = await (await ask('/guides/concepts', 'text/html')).text();
    const [picture = ''] = /<svg.*?<\/svg>/s.exec(text) ?? [];
    expect(picture).toContain('role="img" aria-labelledby="concepts-title concepts-description"');
    expect(picture).toMatch(/<desc id="concepts-description">[^<]{200,}<\/desc>/);
    expect(picture).not.toMatch(/<style|<script|style=|href=| on[a-z]+=/);
    // The pages' stylesheet and the file for both color schemes must each have a color for every class in the picture.
    const file = readFileSync(join(ROOT, 'docs/concepts.svg'), 'utf8');
    const [light = '', dark = ''] = file.split('prefers-color-scheme: dark');
    const classes = new Set([...picture.matchAll(/class="([a-z]+)"/g)].map(([, name = '']) => name));
    expect(classes.size).toBeGreaterThan(5);
    for (const name of classes) {
      expect(text).toContain(`.picture .${name} {`);
      for (const part of [light, dark]) expect(part).toContain(`.${name} {`);
    }
  });

  it('show state diagrams as tables', async () => {
    const elements = await page('/guides/transfers');
    expect(textsOf(elements, 'tr')).toContain('scheduledpending, completed, failed, expiredexecute');
    expect(textsOf(elements, 'pre').join('\n')).not.toContain('stateDiagram');
  });
});

/** Links that this gateway cannot serve: health needs the database, and the console must be built. */
const ELSEWHERE = /^\/(health\/|console|openapi\.json|favicon)/;

it('every link on a page works', async () => {
  const pages = new Map<string, ReadonlySet<string> | null>();
  const dead: string[] = [];
  const visit = async (path: string): Promise<ReadonlySet<string> | null> => {
    const known = pages.get(path);
    if (known !== undefined) return known;
    const answer = await ask(path, 'text/html');
    const text = await answer.text();
    const isPage = answer.status === 200 && answer.headers.get('content-type')?.startsWith('text/html') === true;
    const elements = isPage ? readPage(text.replaceAll(/<svg.*?<\/svg>/gs, '')) : [];
    const ids =
      answer.status === 200 ? new Set(elements.flatMap(({ attributes }) => attributes.get('id') ?? [])) : null;
    pages.set(path, ids);
    for (const link of linksOf(elements)) {
      if (/^(https?|mailto):/.test(link) || ELSEWHERE.test(link)) continue;
      const { pathname, search, hash } = new URL(link, `http://here${path}`);
      const target = await visit(pathname + search);
      if (target === null || (hash !== '' && !target.has(decodeURIComponent(hash.slice(1)))))
        dead.push(`${path}: ${link}`);
    }
    return ids;
  };
  await visit('/');
  expect(dead).toEqual([]);
  expect(pages.size).toBeGreaterThan(ALL.length);
});

it('every link in a served Markdown file works', async () => {
  const dead: string[] = [];
  for (const { slug } of ALL) {
    const text = await (await ask(`/guides/${slug}.md`)).text();
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(https?:|#)/.test(link) || /^\/(errors|events|docs|$)/.test(link) || ELSEWHERE.test(link)) continue;
      if ((await ask(link.split('#')[0] ?? '')).status !== 200) dead.push(`${slug}: ${link}`);
    }
  }
  expect(dead).toEqual([]);
});

it('every link in a file of the project works', () => {
  const files = [
    ...ALL.map(({ file }) => file),
    ...globSync(['*.md', '{console,server,tools,sdk,test}/**/*.md'], { cwd: ROOT, exclude: ['**/node_modules/**'] }),
  ];
  const dead = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(/^```.*?^```/gms, '');
    return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
      if (/^(https?:|\/)/.test(link)) return [];
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? join(ROOT, file) : resolve(ROOT, file, '..', path);
      if (!existsSync(target)) return [`${file}: ${link}`];
      if (anchor === undefined) return [];
      return anchorsOf(readFileSync(target, 'utf8')).includes(anchor) ? [] : [`${file}: ${link}`];
    });
  });
  expect(dead).toEqual([]);
});

/**
 * Returns the ids that GitHub gives to the headings of a file. The service computes the same ids, but this code is
 * independent of it.
 */
function anchorsOf(text: string): readonly string[] {
  const headings = [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title);
  return headings.map((title) =>
    title
      .toLowerCase()
      .replaceAll(/\]\([^)]*\)/g, '')
      .replaceAll(/[^a-z0-9 _-]/g, '')
      .replaceAll(' ', '-'),
  );
}
