import { describe, expect, it } from 'vitest';
import type { CatalogueRecord } from '../../contract/errors/catalogue.ts';
import { OPERATION_IDS } from '../../contract/operations.ts';
import type { Element } from './page-reader.ts';
import { BROWSER, expectFrame, HOSTILE, links, texts, usePages } from './use-pages.ts';

const { ask, page, data } = usePages();

const found = (elements: readonly Element[]) =>
  elements
    .filter(({ tag, around }) => tag === 'a' && around.at(-1) === 'li' && around.includes('main'))
    .flatMap(({ attributes }) => attributes.get('href') ?? []);

describe('the search', () => {
  it.each(['/', '/guides', '/guides/quickstart', '/docs', '/docs/create_transfer', '/errors', '/events', '/search'])(
    'is on %s',
    async (path) => {
      const elements = await page(path);
      expect(elements.filter(({ tag }) => tag === 'form').map(({ attributes }) => attributes.get('action'))).toEqual([
        '/search',
      ]);
      expect(elements.filter(({ tag }) => tag === 'input' || tag === 'label')[0]?.text).toBe('Search');
    },
  );

  it.each([
    ['wrong password', ['/errors/unauthenticated']],
    ['blocked card', ['/errors/card_lost', '/errors/card_suspended', '/errors/card_suspected_fraud']],
    ['declined', ['/errors/insufficient_funds']],
    ['capture_transfer', ['/docs/capture_transfer']],
    ['capture', ['/docs/capture_transfer']],
    ['refund', ['/docs/reverse_transfer', '/errors/invalid_transfer_status']],
    ['holder_reference', ['/docs/create_card#body-holder_reference']],
    ['transfer.failed', ['/events/transfer.failed']],
    ['idempotency', ['/guides/idempotency']],
    ['verify webhook signature', ['/guides/webhooks']],
    ['back up', ['/guides/backups']],
    ['GET /api/v0.1/core/card/{card_id}/posting', ['/docs/list_postings']],
  ])('finds the right pages for %s', async (query, expected) => {
    const elements = await page(`/search?q=${encodeURIComponent(query)}`);
    expectFrame(elements);
    const paths = found(elements).flatMap((path) => [path, path.replace(/#.*/, '')]);
    expect(paths).toEqual(expect.arrayContaining(expected));
    expect(elements.find(({ tag }) => tag === 'input')?.attributes.get('value')).toBe(query);
  });

  it('shows a few results of each kind, and links to all of them', async () => {
    const elements = await page('/search?q=card');
    expect(links(elements)).toEqual(expect.arrayContaining(['/errors?q=card', '/docs?q=card', '/guides?q=card']));
    for (const path of ['/errors?q=card', '/docs?q=card', '/events?q=card', '/guides?q=card']) {
      const alone = await page(path);
      expectFrame(alone);
      const [section] = path.split('?');
      const paths = found(alone).filter((link) => link.startsWith(`${section}/`) || link.startsWith(`${section}#`));
      expect(paths).toEqual(found(alone));
      expect(paths.length).toBeGreaterThan(0);
      expect(links(alone)).toContain('/search?q=card');
    }
  });

  it('finds nothing about the sandbox in live mode', async () => {
    expect(found(await page('/docs?q=move_clock'))).toContain('/docs/move_clock');
    const elements = await page('/docs?q=move_clock', 'live');
    for (const link of found(elements)) expect((await ask(link, BROWSER, 'live')).status).toBe(200);
    expect(found(elements)).not.toContain('/docs/move_clock');
  });

  it.each([
    ['card_closed', 'card_closed'],
    ['  CARD_CLOSED ', 'card_closed'],
    ['424', 'service_disabled'],
    ['minor units', 'invalid_amount'],
    ["The required field 'amount' is missing.", 'create_transfer_schema'],
    ["The card 'employee-7' is closed and cannot receive money.", 'card_closed'],
    [
      '{"Message":"The service is disabled. Please","Status":424,"Code":"service_disabled","Type":"Process Error"}',
      'service_disabled',
    ],
  ])('for %s finds the code %s, as a page and as data', async (query, code) => {
    const path = `?q=${encodeURIComponent(query)}`;
    const elements = await page(`/errors${path}`);
    const { data: records } = (await data(`/errors.json${path}`)) as { readonly data: readonly CatalogueRecord[] };
    expect(records[0]?.code).toBe(code);
    const paths = records.map((record) =>
      record.family === undefined
        ? `/errors/${record.code}`
        : `/errors#family-${record.family.pattern.startsWith('unknown') ? 'unknown' : 'schema'}`,
    );
    expect(found(elements).slice(0, 30)).toEqual(paths.slice(0, 30));
  });

  it('shows a family as one result, with its pattern and its codes as data', async () => {
    const elements = await page('/errors?q=bad+json');
    expectFrame(elements);
    expect(found(elements)).toEqual(['/errors#family-schema']);
    const { data: records } = (await data('/errors.json?q=bad+json')) as { readonly data: readonly CatalogueRecord[] };
    expect(records).toMatchObject([{ code: 'create_transfer_schema', family: { pattern: '<operation>_schema' } }]);
    expect(records[0]?.family?.codes.length).toBe(OPERATION_IDS.length);
  });

  it.each(['/search', '/errors', '/events', '/docs', '/guides'])(
    'reports on %s that it found nothing',
    async (path) => {
      const elements = await page(`${path}?q=xylophone`);
      expectFrame(elements);
      expect(texts(elements, 'main').join()).toContain('Nothing found');
      expect(links(elements)).toContain('/errors');
    },
  );

  it('recognizes a request id', async () => {
    const elements = await page('/search?q=req_0196f5c2d9a27c3e8b1f4a6d7e905b13');
    expect(texts(elements, 'main').join()).toContain('is a request id');
    expect(links(elements)).toContain('/console/request/req_0196f5c2d9a27c3e8b1f4a6d7e905b13');
  });

  it.each([
    ['markup', HOSTILE],
    ['quotes', `"><a href="javascript:x">`],
    ['entities', '&lt;&#x3c;&quot;'],
    ['a template', '$' + '{1+1} {{1+1}}'],
    ['controls', '\u0000\u0001\u202e\u2028'],
    ['a lone surrogate', 'a\ud800b'],
    ['a long text', '<'.repeat(1_500)],
  ])('shows hostile input as plain text: %s', async (_what, query) => {
    const elements = await page(`/search?q=${encodeURIComponent(query.toWellFormed())}`);
    expectFrame(elements);
    expect(elements.find(({ tag }) => tag === 'input')?.attributes.get('value')).toBe(query.toWellFormed());
    for (const link of links(elements)) expect(link).toMatch(/^(#|\/)/);
  });

  it.each(['?q=%zz', '?q=%ff', '?q=card&q=amount', '?q', '?', '?x=1', '?q=+++'])(
    'accepts a malformed query: %s',
    async (query) => {
      for (const path of ['/search', '/errors']) expectFrame(await page(`${path}${query}`));
    },
  );
});
