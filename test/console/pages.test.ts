import { describe, expect, test } from 'vitest';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { expectProblem, problemsOf } from './harness/page-problems.ts';
import { pressKeys, screenshot, useConsole } from './harness/use-console.ts';

const { openConsole } = useConsole();

describe('a button that copies', () => {
  test('puts the command of a listing on the clipboard, by keyboard, and says so', async () => {
    const page = await openConsole('/');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const button = page.getByRole('button', { name: 'Copy: Request' }).first();
    await button.focus();
    await pressKeys(page, 'Enter');
    await expect.poll(() => page.getByRole('status').textContent()).toBe('Copied');
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toMatch(
      /^curl http:\/\/[^\s]+\/api\/v0\.1\/core\/transfer \\\n {2}-d '\{"amount": 1000, "card_id": "card_active"\}'$/,
    );
    expect(await button.evaluate((own) => document.activeElement === own)).toBe(true);
    await expect.poll(() => button.textContent()).toBe('Copy');
  });

  test('copies the id of a demo card where the browser offers no clipboard', async () => {
    const page = await openConsole('/');
    const taken = await page.evaluateHandle(() => {
      Object.defineProperty(navigator, 'clipboard', { value: undefined });
      const copies: string[] = [];
      document.addEventListener('copy', () => copies.push(String(document.getSelection() ?? '')));
      return copies;
    });
    await page.getByRole('button', { name: 'Copy: card_full' }).click();
    await expect.poll(() => taken.evaluate((copies) => copies.length)).toBe(1);
    await expect.poll(() => page.getByRole('status').textContent()).toBe('Copied');
    expect(await page.locator('textarea').count()).toBe(0);
  });
});

describe('the API reference', () => {
  test('shows while somebody types what matches, and leads to the first of it', async () => {
    const page = await openConsole('/docs');
    const shown = () => page.locator('.operation:visible').count();
    const all = await shown();
    await page.getByRole('searchbox').fill('reverse_transfer');
    await expect.poll(shown).toBe(1);
    expect(await page.locator('.index li:visible').count()).toBe(1);
    expect(await page.locator('.menu [data-of]:visible').allTextContents()).toEqual(['reverse_transfer']);
    await pressKeys(page, 'Enter');
    await page.waitForURL(/\/docs#reverse_transfer$/);
    await page.getByRole('searchbox').fill('');
    await expect.poll(shown).toBe(all);
  });

  test('marks in its contents where the reader is', async () => {
    const page = await openConsole('/docs');
    await page.locator('.menu a[href="#get_card"]').click();
    const marked = () =>
      page.evaluate(() => {
        const links = [...document.querySelectorAll('.menu li a')];
        const of = (link: Element) => link.hasAttribute('aria-current') || link.matches(':target-current');
        return links.filter(of).map((link) => link.textContent);
      });
    await expect.poll(marked).toEqual(['get_card']);
  });

  test('has its contents beside the text on a desktop, and closed above it on a phone', async () => {
    const wide = await openConsole('/docs');
    expect(await wide.getByRole('link', { name: 'create_card', exact: true }).isVisible()).toBe(true);
    const narrow = await openConsole('/docs', { width: 390 });
    const link = narrow.locator('.menu').getByText('create_card', { exact: true });
    expect(await link.isVisible()).toBe(false);
    await narrow.getByText('Contents').click();
    await expect.poll(() => link.isVisible()).toBe(true);
  });
});

test.each(['/', '/docs?q=hold', '/errors/card_closed'])('%s fits, and is accessible, in every view', async (path) => {
  const page = await openConsole(path);
  await expectAccessibleInEveryView(page);
  await screenshot(page, `page-${path.replaceAll(/[^a-z]+/g, '-')}`);
  for (const width of [320, 390, 1280]) {
    const sized = await openConsole(path, { width });
    expect(await sized.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  }
});

describe('the catalogue of errors', () => {
  test('a reader finds a code by keyboard', async () => {
    const page = await openConsole('/errors');
    await page.getByRole('searchbox').focus();
    await page.keyboard.type('insufficient');
    await pressKeys(page, 'Enter');
    await page.waitForURL(/q=insufficient/);
    expect(await page.getByRole('main').textContent()).toContain('insufficient_funds');
  });

  test('is accessible in both themes, narrow and wide', async () => {
    const page = await openConsole('/errors');
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'errors');
  });
});

test('what a page does wrong is noted', async () => {
  const page = await openConsole('/errors');
  await page.evaluate(() => {
    try {
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      document.body.append(script);
    } catch {
      // It is blocked where the text is assigned.
    }
    const style = document.createElement('style');
    style.textContent = 'body { color: red; }';
    document.body.append(style);
    void Promise.reject(new Error('left alone'));
    console.error('said aloud');
  });
  await expect.poll(() => page.evaluate(() => 'ran' in window)).toBe(false);
  // The browser tells of violations and rejections a moment later, in this order or another.
  for (const late of [/^error .*: violated require-trusted-types-for/m, /^error .*: violated style-src/m, /left alone/])
    await expect.poll(() => problemsOf(page).join('\n')).toMatch(late);
  expectProblem(page, /TrustedScript|require-trusted-types-for/);
  expectProblem(page, /style-src/);
  expectProblem(page, /left alone/);
  expectProblem(page, /said aloud/);
});
