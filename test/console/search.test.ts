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
const PALETTE = 'Search, or open a screen or an action';

/** Opens the search with `/`, types some text and submits it. */
async function searchFor(page: Page, text: string): Promise<void> {
  await pressKeys(page, '/');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(PALETTE).fill(text);
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

  test('has every key that was typed after its shortcut, even before its code was loaded', async () => {
    const page = await openConsole('/console');
    const press = (text: string) =>
      page.evaluate((keys) => {
        for (const key of keys) {
          document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
        }
      }, text);
    await press('/jkr');
    const field = page.getByRole('combobox', { name: 'Search, or open a screen or an action' });
    await field.waitFor();
    await page.keyboard.type(' 75');
    expect(await field.inputValue()).toBe('jkr 75');
    await page.keyboard.press('Escape');
    // The browser tells the page that a dialog has closed only in the next frame.
    await page.locator('dialog').waitFor({ state: 'detached' });
    // The next key is a shortcut again.
    await page.keyboard.type('/x');
    expect(await field.inputValue()).toBe('x');
  });

  test('also opens with Ctrl-K, and opens a request without searching', async () => {
    const page = await openConsole('/console/search');
    await page.keyboard.press('Control+k');
    await page
      .getByRole('dialog')
      .getByLabel(PALETTE)
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
    await dialog.getByLabel(PALETTE).fill('Priya');
    const hits = dialog.getByRole('listbox', { name: 'Results' });
    await hits.getByText('Priya Raman').waitFor();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'search-palette');
    await dialog.getByLabel(PALETTE).fill('Shop');
    await hits.getByText('Program', { exact: true }).waitFor();
    await dialog.getByLabel(PALETTE).fill('41111111');
    await hits.getByText('Program', { exact: true }).waitFor({ state: 'detached' });
    await dialog.getByLabel(PALETTE).fill('Priya');
    await hits.getByText('Priya Raman').waitFor();
    // Input that could become a card number is not sent while the user types.
    expect(urls.filter((url) => /4111/.test(url))).toEqual([]);
    await dialog.getByLabel(PALETTE).focus();
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
    await dialog.getByLabel(PALETTE).fill('4111 1111 1111 1111');
    await dialog.getByText('It was not sent').waitFor();
    await page.keyboard.press('Enter');
    expect(await dialog.getByRole('button').allInnerTexts()).toEqual(['']);
    await dialog.getByText('It was not sent').waitFor();
    await page.keyboard.press('Escape');
    await page.goto(`${new URL(page.url()).origin}/console/search?q=x`);
    await untilShown(page);
    await page.getByLabel(LABEL).fill('4111111111111111');
    await page.getByText('It was not sent').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('It was not sent').waitFor();
    expect(urls.filter((url) => /4111/.test(url))).toEqual([]);
  });

  test('opens screens, and the forms of actions, with their first letters', async () => {
    const page = await openConsole(`/console/errors?program=${world.program_id}`);
    const field = page.getByRole('combobox', { name: PALETTE });
    const choose = async (text: string, option: string): Promise<void> => {
      await pressKeys(page, '/');
      await field.fill(text);
      const first = page.getByRole('option', { name: option, selected: true });
      await first.waitFor();
      expect(await field.getAttribute('aria-activedescendant')).toBe(await first.getAttribute('id'));
      await page.keyboard.press('Enter');
      await field.waitFor({ state: 'detached' });
    };
    await choose('stop lo', 'Action Stop loads');
    await page.waitForURL('**/console/switch?**');
    await untilShown(page);
    expect(await page.getByLabel('What to stop').inputValue()).toBe('transfer_type');
    expect(await page.getByLabel('Type of transfer').inputValue()).toBe('load');
    await choose('new key', 'Action New key');
    await page.getByRole('dialog', { name: 'Create a key' }).waitFor();
    expect(new URL(page.url()).searchParams.has('open')).toBe(false);
    await pressKeys(page, 'Escape');
    await choose('webh', 'Screen Webhooks');
    await page.waitForURL('**/console/webhooks?**');
  });

  test('offers only the actions of the role', async () => {
    const page = await openConsole('/console/errors', { role: 'support' });
    await pressKeys(page, '/');
    await page.getByRole('combobox', { name: PALETTE }).fill('switch');
    await page.getByRole('option', { name: 'Screen Switch' }).waitFor();
    await page.getByRole('combobox', { name: PALETTE }).fill('stop loads');
    await page.getByRole('option', { name: 'All results for “stop loads”' }).waitFor();
    expect(await page.getByRole('listbox', { name: 'Results' }).getByRole('option').count()).toBe(1);
  });

  test('finds refused requests by amount, holder and time if nothing else is found', async () => {
    const page = await openConsole('/console/errors');
    await pressKeys(page, '/');
    const refused = page.getByRole('option', { name: /^Refused/ });
    for (const text of ['999,999.99', 'Holder 999999.99', '999999.99 USD today']) {
      await page.getByRole('combobox', { name: PALETTE }).fill(text);
      await refused.getByText('insufficient_funds').waitFor();
      await page.getByText('Found only refused requests.').waitFor();
    }
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'search-refused');
    await page.getByRole('combobox', { name: PALETTE }).fill('999999.99 2020-01-01');
    await refused.waitFor({ state: 'detached' });
    await page.getByRole('option', { name: 'All refused transfers of that time' }).waitFor();
    await page.getByRole('combobox', { name: PALETTE }).fill('999,999.99');
    await refused.waitFor();
    await page.getByRole('combobox', { name: PALETTE }).focus();
    await pressKeys(page, 'ArrowDown Enter');
    await page.waitForURL(`**/console/request/${world.request_id}**`);
    await page.goto('/console/search?q=999,999.99');
    await page.getByRole('table', { name: 'Refused requests' }).getByText('insufficient_funds').waitFor();
    expect(await page.getByText('Nothing found').count()).toBe(0);
    await expectAccessibleInEveryView(page);
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
