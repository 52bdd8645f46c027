import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { createAll } from '../harness/client/patience.ts';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { makeWorld, SCRIPT, type World } from './harness/sample-world.ts';
import { pressKeys, screenshot, untilShown, useConsole } from './harness/use-console.ts';

const { openConsole, service } = useConsole();
let world: World;

beforeAll(async () => {
  world = await makeWorld(service());
  const options = { programId: world.program_id };
  const rows = Array.from({ length: 50 }, (_, row) => ({
    amount: 1 + row,
    card_id: 'card_two',
    reference: `r-${row}`,
    idempotency_key: `r-${row}`,
  }));
  await createAll(service().client, rows, options);
});

const headsOf = (page: Page, table: string) =>
  page.getByRole('table', { name: table }).getByRole('columnheader').allInnerTexts();

describe('a list', () => {
  test('hides columns without values, shows the chosen ones, and remembers the choice', async () => {
    const list = 'Deposits and withdrawals';
    const page = await openConsole(`/console/programs/${world.program_id}`);
    expect(await headsOf(page, list)).toEqual([
      'Time',
      'Kind',
      'Amount',
      'Balance afterwards',
      'Who',
      'Description',
      'Id',
    ]);
    // A long description stays on one line. Its tooltip has the whole text.
    const description = page.getByRole('row', { name: 'Deposit' }).getByRole('cell', { name: `Deposit ${SCRIPT}` });
    expect(await description.getAttribute('title')).toBe(`Deposit ${SCRIPT}`);
    const lines = await description.evaluate(
      (cell) => cell.clientHeight / Number.parseFloat(getComputedStyle(cell).lineHeight),
    );
    expect(lines).toBeLessThan(2);
    const button = page.getByLabel(`Columns of ${list}`);
    await button.click();
    await page.getByRole('checkbox', { name: 'Reference (empty here)' }).check();
    await page.getByRole('checkbox', { name: 'Who' }).uncheck();
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'list-columns');
    await pressKeys(page, 'Escape');
    await page.getByRole('checkbox').first().waitFor({ state: 'detached' });
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
    const chosen = ['Time', 'Kind', 'Amount', 'Balance afterwards', 'Description', 'Reference', 'Id'];
    expect(await headsOf(page, list)).toEqual(chosen);
    await page.reload();
    await untilShown(page);
    expect(await headsOf(page, list)).toEqual(chosen);
    await button.click();
    await page.getByRole('button', { name: 'Reset' }).click();
    expect(await headsOf(page, list)).toContain('Who');
  });

  test('keeps its head below the top bar, also if it is wider than the window', async () => {
    const page = await openConsole(`/console/transfers?program=${world.program_id}`);
    const tops = () =>
      page.evaluate(() => {
        const at = (selector: string) => document.querySelector(selector)?.getBoundingClientRect();
        const [bar, head, box] = [at('.top')?.bottom ?? 0, at('main th')?.top ?? 0, at('.table-scroll')?.top ?? 0];
        return { bar: Math.round(bar), head: Math.round(head), box: Math.round(box) };
      });
    await page.evaluate(() => window.scrollTo(0, 900));
    const wide = await tops();
    expect(wide.box).toBeLessThan(0);
    expect(Math.abs(wide.head - wide.bar)).toBeLessThanOrEqual(1);
    await page.setViewportSize({ width: 660, height: 800 });
    const box = page.locator('.table-scroll.overflows');
    await box.waitFor();
    await box.evaluate((element) => element.scrollTo(40, 600));
    const narrow = await tops();
    expect(narrow.head).toBe(narrow.box);
    expect(await box.evaluate(({ scrollTop, scrollLeft }) => [scrollTop > 0, scrollLeft > 0])).toEqual([true, true]);
  });

  test('selects rows with j, k and the arrow keys, and keeps the selection after Back', async () => {
    const page = await openConsole(`/console/transfers?program=${world.program_id}`);
    const rows = page.locator('main tr[data-row]');
    const current = () => rows.evaluateAll((all) => all.flatMap((row, at) => (row.ariaCurrent === 'true' ? [at] : [])));
    await pressKeys(page, 'j ArrowDown ArrowDown');
    expect(await current()).toEqual([2]);
    await pressKeys(page, 'ArrowUp k j');
    expect(await current()).toEqual([1]);
    expect(await rows.nth(1).evaluate((row) => row === document.activeElement)).toBe(true);
    const target = await rows.nth(1).getAttribute('data-row');
    await pressKeys(page, 'Enter');
    await page.waitForURL(`**${target}`);
    await page.goBack();
    await page.waitForURL('**/console/transfers**');
    await untilShown(page);
    await pressKeys(page, 'j');
    expect(await current()).toEqual([1]);
  });
});
