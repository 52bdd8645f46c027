import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { TransferService } from '../../sdk/client.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { makeWorld, type World } from './harness/sample-world.ts';
import { pressKeys, screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();
let world: World;
/** Acts in the card program of the world. */
let client: TransferService;

beforeAll(async () => {
  world = await makeWorld(service());
  client = new TransferService({ baseUrl: service().url, programId: world.program_id });
  await client.cards.create({ card_id: 'shop-1', last_four: '9173', holder_reference: 'employee 7' });
  await client.cards.create({ card_id: 'shop-2', status: 'preactive' });
});

const at = (path: string, query: Readonly<Record<string, string>> = {}) =>
  `/console/${path}?${new URLSearchParams({ program: world.program_id, ...query })}`;
const rowsOf = (page: Page, label = 'Cards') => page.getByRole('table', { name: label }).locator('tbody tr');

describe('Cards', () => {
  test('are found by digits, holder, the start of the id and status; the URL keeps the filter', async () => {
    const page = await openConsole(at('cards'));
    await expect.poll(() => rowsOf(page).count()).toBeGreaterThan(4);
    await page.getByLabel('Last four digits').fill('9173');
    await page.keyboard.press('Enter');
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    await page.reload();
    await untilShown(page);
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    expect(await page.getByLabel('Last four digits').inputValue()).toBe('9173');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => rowsOf(page).count()).toBeGreaterThan(4);
    await page.getByLabel('Card id begins with').fill('shop-');
    await page.getByRole('button', { name: 'Find' }).click();
    await expect.poll(() => rowsOf(page).count()).toBe(2);
    await page.getByLabel('Status').selectOption('preactive');
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    await page.getByLabel('Status').selectOption('stolen');
    await page.getByText('No card matches').waitFor();
    await screenshot(page, 'cards');
    await expectAccessibleInEveryView(page);
  });

  test('a card number is not sent, and four digits are four', async () => {
    const page = await openConsole(at('cards'));
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.getByLabel('Holder reference').fill('4111111111111111');
    await page.keyboard.press('Enter');
    await page.getByText('It was not sent').waitFor();
    await page.getByLabel('Last four digits').fill('12');
    await page.getByText('Four digits.').waitFor();
    expect(urls.filter((url) => url.includes('4111'))).toEqual([]);
  });

  test('by keyboard into a card', async () => {
    const page = await openConsole(at('cards', { last_four: '9173' }));
    await expect.poll(() => rowsOf(page).count()).toBe(1);
    await pressKeys(page, 'j Enter');
    await page.waitForURL('**/console/card/shop-1**');
  });
});

describe('One card', () => {
  test('shows its state, limits, duplicates, holds and statement', async () => {
    const page = await openConsole(at(`card/${world.card_id}`));
    await page.getByText('Money can move to it and from it.').waitFor();
    await expect.poll(() => rowsOf(page, 'Likely duplicates, newest first').count()).toBe(1);
    await expect.poll(() => rowsOf(page, 'Open holds, newest first').count()).toBe(1);
    await expect.poll(() => rowsOf(page, 'Lines of the statement, newest first').count()).toBe(3);
    expect(await page.getByRole('meter').count()).toBeGreaterThan(2);
    await page.getByText('frees at').first().waitFor();
    await screenshot(page, 'card');
    await expectAccessibleInEveryView(page);
  });

  test('is suspended and activated again, each after a question', async () => {
    const page = await openConsole(at('card/shop-1'));
    await page.getByRole('button', { name: 'Suspend' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('no money moves to or from it').waitFor();
    await dialog.getByRole('button', { name: 'Leave it as it is' }).click();
    expect((await client.cards.get('shop-1')).status).toBe('active');
    await page.getByRole('button', { name: 'Suspend' }).click();
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('The card is inactive now.').waitFor();
    expect((await client.cards.get('shop-1')).status).toBe('inactive');
    await page.getByRole('button', { name: 'Activate' }).click();
    await dialog.getByRole('button', { name: 'Activate' }).click();
    await page.getByText('The card is active now.').waitFor();
  });

  test('with money is closed only together with its balance, whose amount is named', async () => {
    const { card_id } = await client.cards.create({ card_id: 'shop-3' });
    await client.transfers.create({ amount: 1234, card_id });
    const page = await openConsole(at(`card/${card_id}`));
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Close', exact: true }).last().isDisabled()).toBe(true);
    await dialog.getByLabel('Move the balance of 12.34 USD').check();
    await dialog.getByRole('button', { name: 'Close, and move 12.34 USD to funding' }).click();
    await page.getByText('The card is closed now.').waitFor();
    expect(await client.cards.get(card_id)).toMatchObject({ status: 'closed', balance: 0 });
    await expect.poll(() => page.getByRole('button', { name: 'Suspend' }).count()).toBe(0);
  });

  test('who may only read gets no buttons', async () => {
    const page = await openConsole(at('card/shop-1'), { role: 'support' });
    await page.getByText('All transfers of the card').waitFor();
    expect(await page.getByRole('button', { name: 'Suspend' }).count()).toBe(0);
  });

  test('that does not exist shows the error record', async () => {
    const page = await openConsole(at('card/nobody')).catch(() => undefined);
    await page?.getByText('card_not_found').first().waitFor();
  });
});
