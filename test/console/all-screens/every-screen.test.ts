import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { expectAccessibleInEveryView } from '../harness/accessible.ts';
import { requestsOf, stopReading, walkByTab } from '../harness/focus.ts';
import { makeWorld, ODD_CARD, type World } from '../harness/sample-world.ts';
import { screenshot, useConsole, visit } from '../harness/use-console.ts';
import { addressOf, SCREENS } from './screens.ts';

const { service, openConsole } = useConsole();
let world: World;

beforeAll(async () => {
  world = await makeWorld(service());
});

/** Fails if the page has rendered any text from the sample world as HTML. */
async function expectTextsAsTexts(page: Page): Promise<void> {
  const found = await page.evaluate(() => ({
    ran: 'planted' in window,
    elements: document.querySelectorAll('main script, main img, main b > script, main [onerror]').length,
  }));
  expect(found).toEqual({ ran: false, elements: 0 });
}

/** Fails if the screen shows a value that is not text, or an error instead of content. */
async function expectContent(page: Page): Promise<void> {
  const text = await page.locator('main').innerText();
  expect(text).not.toMatch(/\bundefined\b|\[object |\bNaN\b|\bnull\b|Invalid Date|This screen failed/);
  expect(await page.locator('main h1').count(), 'headings of level 1').toBe(1);
}

/** Fails unless Tab reaches every control, and each control has a name, is visible and shows the focus. */
async function expectUsableByTab(page: Page): Promise<void> {
  const { stops, missed } = await walkByTab(page);
  expect(stops.length).toBeGreaterThan(5);
  expect(missed, 'not reached by Tab').toEqual([]);
  const wrong = (property: 'hasName' | 'isVisible' | 'isMarked') =>
    stops.filter((stop) => !stop[property]).map(({ label }) => label);
  expect(wrong('hasName'), 'without a name').toEqual([]);
  expect(wrong('isVisible'), 'outside the window, or covered').toEqual([]);
  expect(wrong('isMarked'), 'look the same with focus').toEqual([]);
}

describe.each(SCREENS)('$title ($path)', (route) => {
  test('is accessible in both themes, narrow and wide, works with Tab, and shows stored text only as text', async () => {
    const page = await openConsole(addressOf(route, world));
    const requests = requestsOf(page);
    await expectContent(page);
    await expectTextsAsTexts(page);
    await expectAccessibleInEveryView(page);
    await stopReading(page, requests);
    await expectUsableByTab(page);
    await screenshot(page, `${route.title.toLowerCase().replaceAll(' ', '-')}`);
  });
});

test('a screen without data still has content', async () => {
  const page = await openConsole('/console');
  for (const { path } of SCREENS) {
    if (path.includes(':')) continue;
    await visit(page, path);
    await expectContent(page);
  }
});

test('a card with every allowed character in its id has a screen', async () => {
  const page = await openConsole(`/console/card/${encodeURIComponent(ODD_CARD)}?program=${world.program_id}`);
  await expectContent(page);
  await expectTextsAsTexts(page);
  expect(await page.locator('main').innerText()).toContain(ODD_CARD);
});

test('a screen shows a message if its record does not exist', async () => {
  const page = await openConsole('/console/cards');
  for (const path of [
    '/console/transfer/tr_0196f5c2d9a17b40a5d2c08e6f1b3a97',
    '/console/request/req_0196f5c2d9a27c3e8b1f4a6d7e905b13',
    '/console/card/nobody',
    '/console/webhooks/wh_0196f5c2d9a67c41b8e93d05f7a1c264',
    '/console/programs/prog_0196f5c2d9a67c41b8e93d05f7a1c264',
    '/console/programs/prog_0196f5c2d9a67c41b8e93d05f7a1c264/day',
    '/console/case/case_0196f5c2d9a67c41b8e93d05f7a1c264',
    '/console/incident/inc_0196f5c2d9a67c41b8e93d05f7a1c264',
    '/console/break/brk_0196f5c2d9a67c41b8e93d05f7a1c264',
    '/console/settlement/stl_0196f5c2d9a67c41b8e93d05f7a1c264',
    '/console/move-ins/mvi_0196f5c2d9a67c41b8e93d05f7a1c264',
    '/console/move-ins/comparison/cmp_0196f5c2d9a67c41b8e93d05f7a1c264',
    '/console/transfer/nonsense',
    '/console/nothing-here',
  ]) {
    await visit(page, `${path}?program=${world.program_id}`);
    await expectContent(page);
    expect((await page.locator('main').innerText()).length, path).toBeGreaterThan(40);
  }
});
