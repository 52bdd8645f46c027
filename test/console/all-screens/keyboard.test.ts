import { beforeAll, describe, expect, test } from 'vitest';
import { expectAccessibleInEveryView } from '../harness/accessible.ts';
import { makeWorld, type World } from '../harness/sample-world.ts';
import { pressKeys, untilShown, useConsole } from '../harness/use-console.ts';
import { SCREENS } from './screens.ts';

const { service, openConsole } = useConsole();
let world: World;

beforeAll(async () => {
  world = await makeWorld(service());
});

describe('the keys of the console', () => {
  const lettered = SCREENS.filter(({ letter }) => letter !== undefined);

  test('g and a letter open every screen of the navigation', async () => {
    const page = await openConsole(`/console?program=${world.program_id}`);
    for (const { letter, path } of lettered) {
      // A screen may focus a field, and letters would then be typed into it.
      await page.locator('main').focus();
      await pressKeys(page, `g ${letter}`);
      await page.waitForURL((url) => url.pathname === path);
      await untilShown(page);
      expect(new URL(page.url()).searchParams.get('program')).toBe(world.program_id);
    }
  });

  test('the search focuses its field as soon as it appears, even when it is opened again', async () => {
    const page = await openConsole(`/console/cards?program=${world.program_id}`);
    for (const letter of ['f', 'c', 'f']) {
      await page.locator('main').focus();
      await pressKeys(page, `g ${letter}`);
      await page.locator('main h1', { hasText: letter === 'f' ? 'Search' : 'Cards' }).waitFor();
      const focused = await page.evaluate(() => document.activeElement?.tagName);
      expect(focused).toBe(letter === 'f' ? 'INPUT' : 'MAIN');
    }
  });

  test('? shows the shortcuts, and Escape closes them and restores the focus', async () => {
    const page = await openConsole(`/console/cards?program=${world.program_id}`);
    const link = page.locator('nav a').first();
    await link.focus();
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    for (const { title } of lettered) expect(await dialog.innerText()).toContain(title);
    await pressKeys(page, 'Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await link.evaluate((element) => element === document.activeElement)).toBe(true);
  });

  test('the first Tab offers a link to the content', async () => {
    const page = await openConsole(`/console/cards?program=${world.program_id}`);
    await pressKeys(page, 'Tab Enter');
    await pressKeys(page, 'Tab');
    expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
  });

  test.each(['/', 'Control+k'])('%s opens the search anywhere, and Escape closes it', async (keys) => {
    const page = await openConsole(`/console/audit?program=${world.program_id}`);
    await pressKeys(page, keys);
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT');
    await pressKeys(page, 'Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(new URL(page.url()).pathname).toBe('/console/audit');
  });

  test('j and k select a row, Enter opens it, and Back returns', async () => {
    const page = await openConsole(`/console/transfers?program=${world.program_id}`);
    await page.locator('main tr[data-row]').first().waitFor();
    await pressKeys(page, 'j j k Enter');
    await page.waitForURL(/\/console\/transfer\/tr_/);
    await untilShown(page);
    await page.goBack();
    await page.waitForURL(/\/console\/transfers/);
    await untilShown(page);
    expect(await page.locator('main tr[data-row]').count()).toBeGreaterThan(3);
  });

  test('the menu of actions moves its focus with the arrow keys and letters, and returns it to the button', async () => {
    const page = await openConsole(`/console/card/${world.card_id}?program=${world.program_id}`);
    const button = page.getByRole('button', { name: 'More', exact: true });
    const menu = page.getByRole('menu', { name: 'More actions' });
    const focused = () => page.evaluate(() => document.activeElement?.firstChild?.textContent);
    await button.focus();
    await pressKeys(page, 'ArrowDown');
    await menu.waitFor();
    await expect.poll(() => button.getAttribute('aria-expanded')).toBe('true');
    await expect.poll(focused).toBe('Change limits');
    await expectAccessibleInEveryView(page);
    for (const [key, name] of [
      ['ArrowUp', 'Close'],
      ['ArrowDown', 'Change limits'],
      ['End', 'Close'],
      ['Home', 'Change limits'],
      ['b', 'Block for fraud'],
      ['r', 'Report lost'],
      ['r', 'Report stolen'],
    ] as const) {
      await pressKeys(page, key);
      expect(await focused(), key).toBe(name);
    }
    await pressKeys(page, 'Escape');
    await menu.waitFor({ state: 'hidden' });
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
    await pressKeys(page, 'Enter');
    await expect.poll(focused).toBe('Change limits');
    await pressKeys(page, 'End Enter');
    // The card has a hold, so it can't be closed.
    expect(await menu.isVisible()).toBe(true);
    const dialog = page.getByRole('dialog');
    expect(await dialog.count()).toBe(0);
    await pressKeys(page, 'b Enter');
    await dialog.waitFor();
    expect(await menu.isVisible()).toBe(false);
    await pressKeys(page, 'Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
    await button.click();
    await page.getByRole('heading', { level: 1 }).click();
    await menu.waitFor({ state: 'hidden' });
  });

  test('letters typed into a field do not work as shortcuts', async () => {
    const page = await openConsole(`/console/transfers?program=${world.program_id}`);
    const field = page.locator('main input[type="text"], main input:not([type]), main input[type="search"]').first();
    await field.focus();
    await page.keyboard.type('g/?jk');
    expect(await field.inputValue()).toBe('g/?jk');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(new URL(page.url()).pathname).toBe('/console/transfers');
  });
});
