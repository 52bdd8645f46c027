import { describe, expect, test } from 'vitest';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { expectProblem, problemsOf } from './harness/page-problems.ts';
import { collectStatuses, pressKeys, screenshot, useConsole } from './harness/use-console.ts';

const { openConsole } = useConsole();

describe('a copy button', () => {
  test('copies the command of a listing with the keyboard, and confirms that it was copied', async () => {
    const page = await openConsole('/');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const button = page.getByRole('button', { name: 'Copy: Request' }).first();
    const said = await collectStatuses(page);
    await button.focus();
    await pressKeys(page, 'Enter');
    await expect.poll(said).toContain('Copied');
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toMatch(
      /^curl http:\/\/[^\s]+\/api\/v0\.1\/core\/transfer \\\n {2}-d '\{"amount": 1000, "card_id": "card_active"\}'$/,
    );
    expect(await button.evaluate((own) => document.activeElement === own)).toBe(true);
    await expect.poll(() => button.textContent()).toBe('Copy');
  });

  test('copies the id of a demo card in a browser without a clipboard API', async () => {
    const page = await openConsole('/');
    const taken = await page.evaluateHandle(() => {
      Object.defineProperty(navigator, 'clipboard', { value: undefined });
      const copies: string[] = [];
      document.addEventListener('copy', () => copies.push(String(document.getSelection() ?? '')));
      return copies;
    });
    const said = await collectStatuses(page);
    await page.getByRole('button', { name: 'Copy: card_full' }).click();
    await expect.poll(() => taken.evaluate((copies) => copies.length)).toBe(1);
    await expect.poll(said).toContain('Copied');
    expect(await page.locator('textarea').count()).toBe(0);
  });
});

describe('the API reference', () => {
  test('redirects an anchor of earlier versions to the page of the operation', async () => {
    const page = await openConsole('/docs#reverse_transfer');
    await page.waitForURL(/\/docs\/reverse_transfer$/);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('Reverse a completed transfer');
  });

  test('keeps the chosen language on the next page', async () => {
    const page = await openConsole('/docs/create_card');
    const shown = () => page.locator('.example .listing:visible figcaption').allTextContents();
    const first = async () => (await shown())[0] ?? '';
    expect(await first()).toContain('Request in curl');
    await page.getByRole('radio', { name: 'Python' }).focus();
    await pressKeys(page, 'Space');
    await expect.poll(first).toContain('Request in Python');
    await page.getByRole('link', { name: 'get_card', exact: true }).first().click();
    await page.waitForURL(/\/docs\/get_card$/);
    await expect.poll(first).toContain('Request in Python');
  });

  test('puts the text to the left of the example, and below the example on a phone', async () => {
    const sides = async (width: number) => {
      const page = await openConsole('/docs/create_transfer', { width });
      const [text, example] = await Promise.all(
        ['.text', '.example'].map((name) => page.locator(`.columns > ${name}`).boundingBox()),
      );
      return { text: text ?? { x: 0, y: 0 }, example: example ?? { x: 0, y: 0 } };
    };
    const wide = await sides(1280);
    expect(wide.example.x).toBeGreaterThan(wide.text.x);
    expect(Math.abs(wide.example.y - wide.text.y)).toBeLessThan(2);
    const narrow = await sides(390);
    expect(narrow.text.y).toBeGreaterThan(narrow.example.y);
  });

  test('puts the table of contents next to the text on a desktop, and collapses it above the text on a phone', async () => {
    const wide = await openConsole('/docs');
    expect(await wide.locator('.menu').getByRole('link', { name: 'create_card', exact: true }).isVisible()).toBe(true);
    const narrow = await openConsole('/docs', { width: 390 });
    const link = narrow.locator('.menu').getByText('create_card', { exact: true });
    expect(await link.isVisible()).toBe(false);
    await narrow.getByText('Contents').click();
    await expect.poll(() => link.isVisible()).toBe(true);
  });
});

test.each(['/', '/docs', '/docs/create_transfer', '/search?q=blocked+card', '/errors/card_closed'])(
  '%s fits and is accessible in every view',
  async (path) => {
    const page = await openConsole(path);
    await expectAccessibleInEveryView(page);
    await screenshot(page, `page-${path.replaceAll(/[^a-z]+/g, '-')}`);
    for (const width of [320, 390, 1280]) {
      const sized = await openConsole(path, { width });
      expect(await sized.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
  },
);

describe('the catalog of errors', () => {
  test('finds a code with the keyboard', async () => {
    const page = await openConsole('/errors');
    await page.getByRole('searchbox').focus();
    await page.keyboard.type('insufficient');
    await pressKeys(page, 'Enter');
    await page.waitForURL(/\/search\?q=insufficient/);
    expect(await page.getByRole('main').textContent()).toContain('insufficient_funds');
  });

  test('is accessible in both themes, narrow and wide', async () => {
    const page = await openConsole('/errors');
    await expectAccessibleInEveryView(page);
    await screenshot(page, 'errors');
  });
});

test('the harness records the problems of a page', async () => {
  const page = await openConsole('/errors');
  await page.evaluate(() => {
    try {
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      document.body.append(script);
    } catch {
      // The policy forbids the assignment of the text, so it throws.
    }
    const style = document.createElement('style');
    style.textContent = 'body { color: red; }';
    document.body.append(style);
    void Promise.reject(new Error('left alone'));
    console.error('said aloud');
  });
  await expect.poll(() => page.evaluate(() => 'ran' in window)).toBe(false);
  // The browser reports violations and rejections a moment later, in any order.
  for (const late of [/^error .*: violated require-trusted-types-for/m, /^error .*: violated style-src/m, /left alone/])
    await expect.poll(() => problemsOf(page).join('\n')).toMatch(late);
  expectProblem(page, /TrustedScript|require-trusted-types-for/);
  expectProblem(page, /style-src/);
  expectProblem(page, /left alone/);
  expectProblem(page, /said aloud/);
});
