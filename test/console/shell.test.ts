import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { TransferService } from '../../sdk/client.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { pressKeys, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();

describe('the shell of the console', () => {
  test('opens screens with g and a letter, and shows their names in the title', async () => {
    const page = await openConsole('/console');
    for (const [keys, title, path] of [
      ['g t', 'Transfers', '/console/transfers'],
      ['g c', 'Cards', '/console/cards'],
      ['g s', 'Switch', '/console/switch'],
      ['g o', 'Overview', '/console'],
    ] as const) {
      await pressKeys(page, keys);
      await page.waitForURL((url) => url.pathname === path);
      await page.waitForFunction((text) => document.title.startsWith(text), title);
      await untilShown(page);
      expect(await page.locator('nav [aria-current="page"]').innerText()).toContain(title);
    }
    await page.goBack();
    await page.waitForURL((url) => url.pathname === '/console/switch');
  });

  test('opens the shortcuts with ?, ignores other keys while they are open, and closes them with Escape', async () => {
    const page = await openConsole('/console/cards');
    await pressKeys(page, '?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await dialog.waitFor();
    await expectAccessibleInEveryView(page);
    await pressKeys(page, 'g t');
    await pressKeys(page, 'Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(new URL(page.url()).pathname).toBe('/console/cards');
  });

  test('remembers the chosen theme', async () => {
    const page = await openConsole('/console/cards', { theme: 'light' });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.getByRole('button', { name: 'System theme; change' }).click();
    expect(await ground()).toBe(light);
    await page.getByRole('button', { name: 'Light theme; change' }).click();
    const dark = await ground();
    expect(dark).not.toBe(light);
    await page.reload();
    await untilShown(page);
    expect(await ground()).toBe(dark);
  });

  test('keeps the chosen program in the address, in links, and after a visit to an address without a program', async () => {
    const { client } = service();
    const made = await client.programs.create({ name: 'Blue <b>cards</b>', currency: 'EUR' });
    const page = await openConsole('/console/cards');
    await page.getByTitle('Card program').click();
    const dialog = page.getByRole('dialog', { name: 'Card program' });
    await dialog.getByLabel('Name or id').fill('blue');
    // Enter chooses the first program in the list.
    await dialog.getByRole('button', { name: 'Blue <b>cards</b>' }).waitFor();
    await pressKeys(page, 'Enter');
    await page.waitForURL((url) => url.searchParams.get('program') === made.program_id);
    await page.getByTitle('Card program').getByText('Blue <b>cards</b>').waitFor();
    await pressKeys(page, 'g t');
    await page.waitForURL(`**/console/transfers?program=${made.program_id}`);
    await page.goto('/console/cards');
    await page.waitForURL(`**/console/cards?program=${made.program_id}`);
  });

  test('shows the same program on a screen and in the chooser, also after following a link', async () => {
    const { client } = service();
    const [one, two] = await Promise.all(
      ['First shop', 'Second shop'].map((name) => client.programs.create({ name, currency: 'USD' })),
    );
    const chooser = (page: Page) => page.getByTitle('Card program');
    const page = await openConsole(`/console/programs/${one?.program_id}?program=${two?.program_id}`);
    await page.getByRole('heading', { name: 'First shop' }).waitFor();
    await chooser(page).getByText('First shop').waitFor();
    await page.waitForURL(`**/console/programs/${one?.program_id}?program=${one?.program_id}`);
    await chooser(page).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Second shop' }).click();
    await page.getByRole('heading', { name: 'Second shop' }).waitFor();
    await chooser(page).getByText('Second shop').waitFor();

    await client.cards.create({ card_id: 'in-one' }, { programId: one?.program_id ?? '' });
    await page.goto(`/console/card/in-one?program=${one?.program_id}`);
    await chooser(page).getByText('First shop').waitFor();
    // The page stores the program a moment after it shows it.
    await page.waitForFunction((id) => window.sessionStorage.getItem('console.program') === id, one?.program_id);
    await page.goto('/console/cards');
    await page.waitForURL(`**/console/cards?program=${one?.program_id}`);
    // A card belongs to one program, so choosing the other program leads to its list of cards.
    await page.getByRole('link', { name: 'in-one' }).click();
    await page.waitForURL('**/console/card/in-one**');
    await chooser(page).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Second shop' }).click();
    await page.waitForURL(`**/console/cards?program=${two?.program_id}`);
  });

  test('forgets a chosen program that no longer exists', async () => {
    const page = await openConsole('/console/cards');
    await page.evaluate(() => window.localStorage.setItem('console.program', 'prog_01936f2a3b4c7d6e8f8091a2b3c4d5e6'));
    await page.goto('/console/cards');
    await page.getByTitle('Card program').getByText('Demo program').waitFor();
    await page.getByText('card_active').first().waitFor();
    await page.waitForURL('**/console/cards');
  });

  test('shows in a banner what the switch has stopped, until it is restarted', async () => {
    const { client } = service();
    await client.switch.change({ disabled: true, reason: 'Maintenance <script>alert(1)</script>' });
    const page = await openConsole('/console/cards');
    const banner = page.locator('.banner');
    await banner.getByText('Everything is stopped: Maintenance <script>').waitFor();
    await expectAccessibleInEveryView(page);
    await client.switch.change({ disabled: false, reason: 'Done' });
    await banner.waitFor({ state: 'detached' });
  });

  test('reads the names of keys once, and shows their ids in tooltips', async () => {
    const { client, url } = service();
    const name = 'Maria, operations';
    const made = await client.keys.create({ name, role: 'operator', all_programs: true });
    const maria = new TransferService({ baseUrl: url, key: made.key ?? '' });
    await maria.switch.change({ disabled: true, type: 'unload', program_id: DEMO_PROGRAM, reason: 'OPS-311' });
    const page = await openConsole('/console/audit');
    let reads = 0;
    page.on('request', (request) => {
      if (request.url().includes('/operator/key')) reads += 1;
    });
    for (const keys of ['g s', 'g c', 'g s']) await pressKeys(page, keys);
    await page.waitForURL('**/console/switch**');
    const row = page.getByRole('row', { name: 'Unloads for Demo program' });
    await row.getByRole('link', { name }).waitFor();
    expect(await row.getByRole('link', { name }).getAttribute('title')).toBe(made.key_id);
    expect(reads).toBeLessThanOrEqual(1);
    await maria.switch.change({ disabled: false, type: 'unload', program_id: DEMO_PROGRAM });
  });

  test('hides the navigation behind a button in a narrow window', async () => {
    const page = await openConsole('/console/cards', { width: 390 });
    const link = page.getByRole('link', { name: 'Transfers' });
    expect(await link.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Screens' }).click();
    await link.click();
    await page.waitForURL('**/console/transfers');
    await link.waitFor({ state: 'hidden' });
  });

  test('shows who is signed in, and their permissions', async () => {
    const page = await openConsole('/console/cards', { role: 'support' });
    await page.getByRole('button', { name: 'Signed in' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('operator:read').waitFor();
    expect(await dialog.innerText()).not.toContain('transfers:write');
    await expectAccessibleInEveryView(page);
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Signed in' }).waitFor({ state: 'detached' });
  });

  test('finds the card program for a link that names none, if only one program has the id', async () => {
    const { client } = service();
    const transfer = await client.transfers.create({ amount: 1234, card_id: 'card_active' });
    const page = await openConsole(`/console/transfer/${transfer.transfer_id}`, { role: 'support' });
    await page.waitForURL(`**/console/transfer/${transfer.transfer_id}?program=${transfer.program_id}`);
    await page.getByText('12.34').first().waitFor();
    const other = await openConsole('/console/transfer/tr_01936f2a3b4c7d6e8f8091a2b3c4d5e6', { role: 'support' });
    await other.getByText('Choose a card program').waitFor();
    await expectAccessibleInEveryView(other);
  });

  test('reports a screen that fails, while the other screens keep working', async () => {
    const page = await openConsole('/console/transfers');
    const body = "export const AuditScreen = () => { throw new Error('planted <b>failure</b>'); };";
    await page.route('**/audit-screen-*.js', (route) => route.fulfill({ contentType: 'text/javascript', body }));
    await pressKeys(page, 'g a');
    await page.getByText('planted <b>failure</b>').waitFor();
    await expectAccessibleInEveryView(page);
    await pressKeys(page, 'g t');
    await page.getByRole('heading', { name: 'Transfers' }).waitFor();
  });

  test('shows a message if no screen has the address', async () => {
    const page = await openConsole('/console/no/such/screen');
    await page.getByText('There is no screen at this address').waitFor();
    await expectAccessibleInEveryView(page);
  });

  test('opens links to other pages outside the console', async () => {
    const page = await openConsole('/console/cards');
    await page.getByRole('link', { name: 'Error codes' }).click();
    await page.waitForURL('**/errors');
    await page.getByRole('link', { name: 'Console' }).click();
    await page.waitForURL('**/console');
  });
});
