import { beforeAll, describe, expect, test } from 'vitest';
import { walkByTab } from '../harness/focus.ts';
import { makeWorld, type World } from '../harness/sample-world.ts';
import { pressKeys, untilShown, useConsole } from '../harness/use-console.ts';
import { addressOf, SCREENS } from './screens.ts';

const { service, openConsole } = useConsole();
let world: World;

beforeAll(async () => {
  world = await makeWorld(service());
});

describe.each(SCREENS)('$title ($path)', (route) => {
  test('Tab reaches everything that can be used, and each has a name and is seen', async () => {
    const page = await openConsole(addressOf(route, world));
    const { stops, missed } = await walkByTab(page);
    expect(stops.length).toBeGreaterThan(5);
    expect(missed, 'not reached').toEqual([]);
    const wrong = (property: 'hasName' | 'isVisible' | 'isMarked') =>
      stops.filter((stop) => !stop[property]).map(({ label }) => label);
    expect(wrong('hasName'), 'without a name').toEqual([]);
    expect(wrong('isVisible'), 'outside of the window, or covered').toEqual([]);
    expect(wrong('isMarked'), 'look the same with the focus').toEqual([]);
  });
});

describe('the keys of the console', () => {
  const lettered = SCREENS.filter(({ letter }) => letter !== undefined);

  test('g and a letter open every screen of the navigation, whose heading has the focus or follows', async () => {
    const page = await openConsole(`/console?program=${world.program_id}`);
    for (const { letter, path } of lettered) {
      await pressKeys(page, `g ${letter}`);
      await page.waitForURL((url) => url.pathname === path);
      await untilShown(page);
      // The program stays chosen.
      expect(new URL(page.url()).searchParams.get('program')).toBe(world.program_id);
    }
  });

  test('? shows the keys, Escape closes them, and the focus comes back', async () => {
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

  test('the first Tab offers to skip to the content', async () => {
    const page = await openConsole(`/console/cards?program=${world.program_id}`);
    await pressKeys(page, 'Tab Enter');
    await pressKeys(page, 'Tab');
    expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
  });

  test.each(['/', 'Control+k'])('%s opens the search from everywhere, and Escape leaves it', async (keys) => {
    const page = await openConsole(`/console/audit?program=${world.program_id}`);
    await pressKeys(page, keys);
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT');
    await pressKeys(page, 'Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(new URL(page.url()).pathname).toBe('/console/audit');
  });
});
