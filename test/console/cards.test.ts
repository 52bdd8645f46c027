import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { TransferService } from '../../sdk/client.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { makeWorld, type World } from './harness/sample-world.ts';
import { chooseAction, pressKeys, refusedActions, screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();
let world: World;
/** A client that acts in the card program of the sample world. */
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
  test('are found by their last four digits, the start of the id and the status, and the URL keeps the filter', async () => {
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

  test('never sends a card number, and requires four digits', async () => {
    const page = await openConsole(at('cards'));
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.getByLabel('Holder reference').fill('4111111111111111');
    await page.keyboard.press('Enter');
    await page.getByText('It was not sent').waitFor();
    await page.getByLabel('Last four digits').fill('12');
    await page.getByText('Enter four digits.').waitFor();
    expect(urls.filter((url) => url.includes('4111'))).toEqual([]);
  });

  test('are created from the search, without a card number', async () => {
    const page = await openConsole(at('transfers'), { theme: 'dark', width: 390 });
    await pressKeys(page, '/');
    await page.keyboard.type('new card');
    await page.getByRole('option', { name: 'New card' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New card of Shop' });
    await dialog.getByLabel('Holder reference').fill('4111111111111111');
    await dialog.getByText('It was not sent').waitFor();
    expect(await dialog.getByRole('button', { name: 'Create the card' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Holder reference').fill('employee 9');
    await dialog.getByLabel('Last four digits').fill('9999');
    await dialog.getByLabel('Card id').fill('shop-9');
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'new-card-phone');
    await dialog.getByRole('button', { name: 'Create the card' }).click();
    await page.getByRole('heading', { name: 'employee 9 ··9999' }).waitFor();
    expect(await client.cards.get('shop-9')).toMatchObject({ status: 'active', currency: 'USD', last_four: '9999' });
    const asSupport = await openConsole(at('cards'), { role: 'support' });
    await asSupport.getByText('To create a card, ask').waitFor();
    expect(await asSupport.getByRole('button', { name: 'New card' }).count()).toBe(0);
  });

  test('open with the keyboard', async () => {
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
    const duplicates = page.getByRole('list', { name: 'Likely duplicates' });
    await duplicates.getByText('Probably loaded twice: reverse the later one.').waitFor();
    expect(await duplicates.getByRole('button', { name: 'Reverse' }).count()).toBe(1);
    await expect.poll(() => rowsOf(page, 'Open holds, newest first').count()).toBe(1);
    await expect.poll(() => rowsOf(page, 'Lines of the statement, newest first').count()).toBe(3);
    expect(await page.getByRole('meter').count()).toBeGreaterThan(2);
    await page.getByText('resets').first().waitFor();
    await screenshot(page, 'card');
    await expectAccessibleInEveryView(page);
    const asViewer = await openConsole(at(`card/${world.card_id}`), { role: 'viewer' });
    await asViewer.getByText('To reverse a duplicate, ask an operator.').waitFor();
  });

  test('adds a reversal to its statement at once', async () => {
    const { card_id } = await client.cards.create({ card_id: 'shop-twice' });
    for (let count = 0; count < 2; count += 1) await client.transfers.create({ amount: 250, card_id });
    const page = await openConsole(at(`card/${card_id}`));
    const lines = rowsOf(page, 'Lines of the statement, newest first');
    await expect.poll(() => lines.count()).toBe(2);
    await page.getByRole('button', { name: 'Reverse' }).last().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reverse 2.50 USD' }).click();
    await expect.poll(() => lines.count()).toBe(3);
    await lines.first().getByText('Reversal').waitFor();
  });

  test('offers to cancel a duplicate that is still on hold', async () => {
    const { card_id } = await client.cards.create({ card_id: 'shop-held-twice' });
    await client.transfers.create({ amount: 1000, card_id });
    const hold = { amount: 250, card_id, type: 'unload', capture: 'manual' } as const;
    await client.transfers.create(hold);
    const { transfer_id: later } = await client.transfers.create(hold);
    const asViewer = await openConsole(at(`card/${card_id}`), { role: 'viewer' });
    await asViewer.getByText('To cancel a duplicate, ask an operator.').waitFor();
    const page = await openConsole(at(`card/${card_id}`), { theme: 'dark', width: 390 });
    const duplicates = page.getByRole('list', { name: 'Likely duplicates' });
    await duplicates.getByText('Probably charged twice: cancel the later one.').waitFor();
    await screenshot(page, 'card-held-twice-phone');
    await duplicates.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByText('2.50 USD is released on the card shop-held-twice.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the unload' }).click();
    await page.getByText('Canceled: 2.50 USD will not move.').waitFor();
    await duplicates.waitFor({ state: 'detached' });
    expect((await client.transfers.get(later)).status).toBe('canceled');
  });

  test('does not offer to reverse a duplicate at a processor', async () => {
    const card_id = 'card_settled';
    const ids: string[] = [];
    for (let count = 0; count < 2; count += 1) {
      const { transfer_id: id } = await client.transfers.create({ amount: 777, card_id });
      await expect.poll(async () => (await client.transfers.get(id)).status).toBe('completed');
      ids.push(id);
    }
    const page = await openConsole(at(`card/${card_id}`));
    const duplicates = page.getByRole('list', { name: 'Likely duplicates' });
    await duplicates.getByText('Probably loaded twice: unload the amount of the later one.').waitFor();
    expect(await duplicates.getByRole('button', { name: 'Reverse' }).count()).toBe(0);
    const transfer = await openConsole(at(`transfer/${ids[1]}`));
    await transfer.getByText('Probably loaded twice: unload the amount of the later one.').waitFor();
    expect(await transfer.getByRole('button', { name: 'Reverse' }).count()).toBe(0);
  });

  test('can be suspended and activated again, each after a confirmation', async () => {
    const page = await openConsole(at('card/shop-1'));
    await page.getByRole('button', { name: 'Suspend' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: 'Suspend employee 7 ··9173' }).waitFor();
    await dialog.getByText('no money moves to or from it').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect((await client.cards.get('shop-1')).status).toBe('active');
    await page.getByRole('button', { name: 'Suspend' }).click();
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('employee 7 ··9173 is suspended now.').waitFor();
    expect((await client.cards.get('shop-1')).status).toBe('inactive');
    await page.getByRole('button', { name: 'Activate' }).click();
    await dialog.getByRole('button', { name: 'Activate' }).click();
    await page.getByText('employee 7 ··9173 is active now.').waitFor();
    await expect.poll(() => refusedActions(page)).toEqual({ Activate: 'The card is already active.' });
  });

  test('closes only if its balance is moved, and names the amount on the button', async () => {
    const { card_id } = await client.cards.create({ card_id: 'shop-3' });
    await client.transfers.create({ amount: 1234, card_id });
    const page = await openConsole(at(`card/${card_id}`));
    await chooseAction(page, 'Close');
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Close shop-3' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Move the balance of 12.34 USD').check();
    await dialog.getByRole('button', { name: 'Close shop-3 and move 12.34 USD to the funding account' }).click();
    await page.getByText('shop-3 is closed now.').waitFor();
    expect(await client.cards.get(card_id)).toMatchObject({ status: 'closed', balance: 0 });
    await expect.poll(() => page.getByRole('button', { name: 'Suspend' }).count()).toBe(0);
    const refused = await refusedActions(page);
    expect(Object.keys(refused)).toHaveLength(8);
    expect(refused).toMatchObject({
      Activate: "A closed card can't be changed.",
      'Change limits': "A closed card can't be changed.",
      Close: 'The card is already closed.',
    });
  });

  test('says why a card with a hold cannot be closed', async () => {
    const { card_id } = await client.cards.create({ card_id: 'shop-hold' });
    await client.transfers.create({ amount: 500, card_id });
    await client.transfers.create({ amount: 100, card_id, type: 'unload', capture: 'manual' });
    await client.cards.update(card_id, { status: 'fraud' });
    const page = await openConsole(at(`card/${card_id}`), { width: 390 });
    expect(await refusedActions(page)).toEqual({
      'Report lost': 'The card is blocked for suspected fraud. Activate or suspend it first.',
      'Block for fraud': 'The card is already blocked for suspected fraud.',
      Close: 'Money is on hold. Capture or cancel the pending transfers first.',
    });
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'card-refused-actions-phone');
  });

  test('shows no buttons to people who can only read', async () => {
    const page = await openConsole(at('card/shop-1'), { role: 'support' });
    await page.getByText('All transfers of the card').waitFor();
    expect(await page.getByRole('button', { name: 'Suspend' }).count()).toBe(0);
    await page.getByText('To change the card, ask an operator.').waitFor();
  });

  test('changes only the edited limits and details', async () => {
    const { card_id } = await client.cards.create({ card_id: 'shop-4', metadata: { team: 'sales', desk: '7' } });
    const page = await openConsole(at(`card/${card_id}`), { theme: 'dark', width: 390 });
    await chooseAction(page, 'Change limits');
    const limits = page.getByRole('dialog', { name: 'Limits of shop-4' });
    await limits.getByLabel('Daily amount').first().fill('12.50');
    await limits.getByLabel('Maximum balance').fill('100');
    await limits.getByRole('button', { name: 'Save the limits of shop-4' }).click();
    await page.getByText('The limits of shop-4 were changed.').waitFor();

    await chooseAction(page, 'Change details');
    const details = page.getByRole('dialog', { name: 'Details of shop-4' });
    await details.getByLabel('Last four').fill('12');
    await details.getByText('Enter four digits.').waitFor();
    await details.getByLabel('Last four').fill('1290');
    await details.getByLabel('Holder reference').fill('Ada');
    await details.getByLabel('Expires').fill('2099-12-31');
    await details.getByLabel('Metadata').fill('team = support');
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'card-details-phone');
    await details.getByRole('button', { name: 'Save the details of shop-4' }).click();
    await page.getByRole('heading', { name: 'Ada ··1290' }).waitFor();
    expect(await client.cards.get(card_id)).toMatchObject({
      limits: { in: { daily_amount: 1250 }, maximum_balance: 10_000 },
      holder_reference: 'Ada',
      last_four: '1290',
      expires_on: '2099-12-31',
      metadata: { team: 'support' },
    });
  });

  test('shows its money above its actions on a phone', async () => {
    const page = await openConsole(at(`card/${world.card_id}`), { width: 390 });
    const top = async (locator: Locator) => (await locator.first().boundingBox())?.y ?? Number.NaN;
    const money = await top(page.locator('.highlights'));
    const actions = await top(page.getByRole('button', { name: 'Suspend' }));
    const details = await top(page.locator('.details'));
    expect(money).toBeLessThan(actions);
    expect(actions).toBeLessThan(details);
    await screenshot(page, 'card-phone');
  });

  test('disappears when a different program with the same card id is chosen', async () => {
    const other = await service().client.programs.create({ name: 'Same ids', currency: 'USD' });
    await service().client.cards.create({ card_id: 'shop-5', last_four: '2222' }, { programId: other.program_id });
    await client.cards.create({ card_id: 'shop-5', last_four: '1111' });
    const page = await openConsole(at('card/shop-5'));
    await page.getByRole('heading', { name: '1111' }).waitFor();
    await page.getByRole('button', { name: 'Suspend' }).waitFor();
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/core/card/shop-5', async (route) => {
      await answered;
      await route.continue();
    });
    await page.evaluate((programId) => {
      window.history.pushState(null, '', `/console/card/shop-5?program=${programId}`);
      window.dispatchEvent(new PopStateEvent('popstate'));
    }, other.program_id);
    await page.getByTitle('Card program').getByText('Same ids').waitFor();
    expect(await page.getByRole('heading', { name: '1111' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Suspend' }).count()).toBe(0);
    answer();
    await page.getByRole('heading', { name: '2222' }).waitFor();
  });

  test('shows the error record if it does not exist', async () => {
    const page = await openConsole(at('card/nobody')).catch(() => undefined);
    await page?.getByText('card_not_found').first().waitFor();
  });
});
