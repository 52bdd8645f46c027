import { describe, expect, it } from 'vitest';
import { goOf, pythonOf, typescriptOf } from '../../contract/clients/example-code.ts';
import { curlOf, exampleFile, exampleOf, exampleReply } from '../../contract/examples.ts';
import { fieldsOf } from '../../contract/openapi/fields.ts';
import { OPERATION_IDS, OPERATIONS, precedenceOf } from '../../contract/operations.ts';
import { readPage } from './page-reader.ts';
import { BROWSER, codesLinked, expectFrame, links, texts, usePages } from './use-pages.ts';

const { urlOf, ask, page, data } = usePages();

describe('the API reference', () => {
  const OF_LIVE = OPERATION_IDS.filter((id) => OPERATIONS[id].reach !== 'sandbox');

  it.each(OPERATION_IDS)('has a page for %s: fields, errors in order, request and response', async (id) => {
    const elements = await page(`/docs/${id}`);
    expectFrame(elements);
    const { method, path, summary, body, query, reply, csv } = OPERATIONS[id];
    expect(texts(elements, 'h1')).toEqual([summary]);
    const route = elements.find(({ attributes }) => attributes.get('class') === 'route');
    expect(route?.text).toBe(`${method}${path}`);
    const order = elements.filter(
      ({ tag, around }) => tag === 'a' && around.includes('ol') && around.includes('article'),
    );
    expect(codesLinked(order)).toEqual(precedenceOf(id));
    const ids = elements.flatMap(({ attributes }) => attributes.get('id') ?? []);
    for (const [list, schema] of Object.entries({ body, query, response: reply })) {
      for (const { name } of schema === undefined ? [] : fieldsOf(schema)) expect(ids).toContain(`${list}-${name}`);
    }
    // Every field has a description.
    const described = elements.filter(({ tag, around }) => tag === 'dd' && around.includes('article'));
    expect(described.filter(({ text }) => text === '')).toEqual([]);
    const base = urlOf();
    const place = { base, needsKey: false };
    const shown = texts(elements, 'code').map((text) => text.replaceAll(/\s+/g, ' ').trim());
    const written = [curlOf(exampleOf(id), base), typescriptOf(id, place), pythonOf(id, place), goOf(id, place)];
    for (const text of [...written, csv ? exampleFile(id) : JSON.stringify(exampleReply(id), null, 2)]) {
      expect(shown).toContain(text.replaceAll(/\s+/g, ' ').trim());
    }
  });

  it('lists every operation under the anchors of earlier versions', async () => {
    const elements = await page('/docs');
    expectFrame(elements);
    const rows = elements.filter(({ tag, attributes }) => tag === 'li' && attributes.has('id'));
    expect(rows.map(({ attributes }) => attributes.get('id'))).toEqual(OPERATION_IDS);
    for (const { attributes, text } of rows) {
      const { method, path, summary } = OPERATIONS[attributes.get('id') as (typeof OPERATION_IDS)[number]];
      expect(text).toBe(`${summary} ${method} ${path}`);
    }
    for (const id of OPERATION_IDS) expect(links(elements).filter((link) => link === `/docs/${id}`)).toHaveLength(2);
  });

  it('can be read one operation after another', async () => {
    const seen: string[] = [];
    let id: string | undefined = OPERATION_IDS[0];
    while (id !== undefined && seen.length <= OPERATION_IDS.length) {
      seen.push(id);
      const elements = await page(`/docs/${id}`);
      const at = elements.findIndex(({ tag, text }) => tag === 'span' && text === 'Next');
      const next = at === -1 ? undefined : elements.slice(at).find(({ tag }) => tag === 'a');
      id = next?.attributes.get('href')?.split('/').at(-1);
    }
    expect(seen).toEqual(OPERATION_IDS);
  });

  it('has pages of moderate size', async () => {
    for (const path of ['/docs', ...OPERATION_IDS.map((id) => `/docs/${id}`)]) {
      const text = await (await ask(path, BROWSER)).text();
      expect([path, text.length < 150_000]).toEqual([path, true]);
    }
  });

  it('has examples with a key and does not mention the sandbox in live mode', async () => {
    const index = await page('/docs', 'live');
    const rows = index.filter(({ tag, attributes }) => tag === 'li' && attributes.has('id'));
    expect(rows.map(({ attributes }) => attributes.get('id'))).toEqual(OF_LIVE);
    expect(texts(index, 'main').join()).not.toMatch(/Sandbox-Provoke|\/sandbox\//);
    for (const id of OPERATION_IDS) {
      const answer = await ask(`/docs/${id}`, BROWSER, 'live');
      expect(answer.status).toBe(OF_LIVE.includes(id) ? 200 : 404);
      if (answer.status !== 200) continue;
      const codes = texts(readPage(await answer.text()), 'code');
      const requests = codes.filter((text) => /^curl |^import |^package /.test(text));
      expect(requests).toHaveLength(4);
      for (const request of requests) {
        expect(request).toContain(urlOf('live'));
        // Requests from connectors have a signature instead.
        expect(request.includes('TRANSFER_SERVICE_KEY')).toBe(OPERATIONS[id].reach !== 'connector');
      }
    }
  });

  it('is also served as an OpenAPI document', async () => {
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
