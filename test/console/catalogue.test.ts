import { describe, expect, test } from 'vitest';
import { expectAccessibleInEveryView } from './harness/accessible.ts';
import { expectProblem } from './harness/page-problems.ts';
import { pressKeys, screenshot, useConsole } from './harness/use-console.ts';

const { openConsole } = useConsole();

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
    const script = document.createElement('script');
    script.textContent = 'window.ran = true';
    document.body.append(script);
    void Promise.reject(new Error('left alone'));
    console.error('said aloud');
  });
  await expect.poll(() => page.evaluate(() => 'ran' in window)).toBe(false);
  expectProblem(page, /script-src/);
  expectProblem(page, /left alone/);
  expectProblem(page, /said aloud/);
});
