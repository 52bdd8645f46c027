import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { pendingApproval } from '../fixtures/service-things.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { makeWorld, type World } from './harness/sample-world.ts';
import { pressKeys, screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service, keyOf } = useConsole();
let world: World;

beforeAll(async () => {
  world = await makeWorld(service());
  await service().client.cards.create(
    { card_id: 'found-by-digits', last_four: '9173' },
    { programId: world.program_id },
  );
});

const LABEL = 'Name, id, reference, card, last four digits, amount or error code';

/** Opens the search with `/`, types some text and submits it. */
async function searchFor(page: Page, text: string): Promise<void> {
  await pressKeys(page, '/');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(LABEL).fill(text);
  await page.keyboard.press('Enter');
}

function requestsOf(page: Page): string[] {
  const urls: string[] = [];
  page.on('request', (request) => urls.push(request.url()));
  return urls;
}

describe('the search', () => {
  test('opens a single hit in its card program, from any screen', async () => {
    const page = await openConsole('/console/errors');
    await searchFor(page, world.held_id);
    await page.waitForURL(`**/console/transfer/${world.held_id}?program=${world.program_id}`);
    await searchFor(page, '9173');
    await page.waitForURL('**/console/card/found-by-digits?**');
    await page.goBack();
    await page.waitForURL(`**/console/transfer/${world.held_id}**`);
  });

  test('opens an approval, and opens the list that shows a person', async () => {
    const { client } = service();
    const approvalId = await pendingApproval(client);
    const page = await openConsole('/console/errors');
    await searchFor(page, approvalId);
    await page.waitForURL(`**/console/approval/${approvalId}**`);
    const { person_id } = await client.sandbox.signInAs({ person: 'support' });
    await searchFor(page, person_id ?? '');
    await page.waitForURL('**/console/keys?**');
  });

  test('focuses its field before the next key is handled, even on a busy page', async () => {
    const page = await openConsole('/console');
    const focused = await page.evaluate(async () => {
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }));
      // At this point, the page has handled the key but has painted no frame.
      await Promise.resolve();
      return document.activeElement?.closest('dialog') !== null && document.activeElement?.tagName;
    });
    expect(focused).toBe('INPUT');
  });

  test('also opens with Ctrl-K, and opens a request without searching', async () => {
    const page = await openConsole('/console/search');
    await page.keyboard.press('Control+k');
    await page
      .getByRole('dialog')
      .getByLabel(LABEL)
      .fill(`req_${'0'.repeat(32)}`);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/console/request/req_${'0'.repeat(32)}**`);
  });

  test('finds part of a name while the user types, and selects a hit with the arrow keys', async () => {
    await service().client.cards.create(
      { card_id: 'of-priya', holder_reference: 'Priya Raman' },
      { programId: world.program_id },
    );
    const page = await openConsole('/console/errors');
    const urls = requestsOf(page);
    await pressKeys(page, '/');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(LABEL).fill('Priya');
    const hits = dialog.getByRole('list', { name: 'Found so far' });
    await hits.getByText('Priya Raman').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'search-palette');
    await dialog.getByLabel(LABEL).fill('Shop');
    await hits.getByText('Program', { exact: true }).waitFor();
    await dialog.getByLabel(LABEL).fill('41111111');
    await hits.waitFor({ state: 'detached' });
    await dialog.getByLabel(LABEL).fill('Priya');
    await hits.getByText('Priya Raman').waitFor();
    // Input that could become a card number is not sent while the user types.
    expect(urls.filter((url) => /4111/.test(url))).toEqual([]);
    await dialog.getByLabel(LABEL).focus();
    await pressKeys(page, 'ArrowDown Enter');
    await page.waitForURL('**/console/card/of-priya?**');
  });

  test('also finds hits on the search screen while the user types', async () => {
    const page = await openConsole('/console/search');
    await page.getByLabel(LABEL).fill('9173');
    await page.getByText('Card ending in 9173').waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('9173');
    await page.getByLabel(LABEL).fill('sample-nothing');
    await page.getByText('Nothing found for “sample-nothing”').waitFor();
  });

  test('lists several hits by kind, and opens one with j and Enter', async () => {
    const page = await openConsole('/console/search?q=card_');
    await page.getByRole('heading', { name: 'Cards' }).waitFor();
    await page.getByText('There are more.').waitFor();
    await screenshot(page, 'search');
    await expectAccessibleInEveryView(page);
    await page.getByRole('heading', { name: 'Search', exact: true }).click();
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await pressKeys(page, 'j Enter');
    await page.waitForURL('**/console/card/card_**');
  });

  test('refuses a card number and never sends it', async () => {
    const page = await openConsole('/console/errors');
    const urls = requestsOf(page);
    await pressKeys(page, '/');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(LABEL).fill('4111 1111 1111 1111');
    await dialog.getByText('It was not sent').waitFor();
    await page.keyboard.press('Enter');
    expect(await dialog.getByRole('button', { name: 'Search' }).isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    await page.goto(`${new URL(page.url()).origin}/console/search?q=x`);
    await untilShown(page);
    await page.getByLabel(LABEL).fill('4111111111111111');
    await page.getByText('It was not sent').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('It was not sent').waitFor();
    expect(urls.filter((url) => /4111/.test(url))).toEqual([]);
  });

  test('suggests how to search if nothing is found', async () => {
    const page = await openConsole('/console/search?q=nothing-like-this');
    await page.getByText('Nothing found for').waitFor();
    await expectAccessibleInEveryView(page);
  });

  test('searches only the program of a program key', async () => {
    const { key } = await service().client.keys.create({
      name: 'own',
      program_id: world.program_id,
      scopes: ['transfers:read', 'cards:read', 'errors:read'],
    });
    const page = await openConsole('/console/cards', { key: key ?? '' });
    const urls = requestsOf(page);
    await searchFor(page, '9173');
    await page.waitForURL('**/console/card/found-by-digits**');
    await searchFor(page, world.held_id);
    await page.waitForURL(`**/console/transfer/${world.held_id}**`);
    expect(urls.filter((url) => url.includes('/operator/'))).toEqual([]);
  });

  test('finds a card of the chosen program for the role `support`', async () => {
    expect(await keyOf('support')).toBeTruthy();
    const page = await openConsole(`/console/search?q=9173&program=${world.program_id}`, { role: 'support' });
    await page.getByText('Card ending in 9173').waitFor();
  });
});
