import type axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** Level AA of WCAG 2.2, including the rules of earlier versions. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/**
 * The theme affects only these rules, so only they are checked again in the other theme. This halves the time that axe
 * takes.
 */
const RULES_OF_COLORS = ['color-contrast', 'link-in-text-block'];

/** The combinations of theme and width in which every screen must be accessible. */
const VIEWS = [
  { theme: 'light', width: 1280, isOtherTheme: false },
  { theme: 'dark', width: 1280, isOtherTheme: true },
  { theme: 'dark', width: 320, isOtherTheme: false },
  { theme: 'light', width: 320, isOtherTheme: true },
] as const;

/** Waits until no table is reloading. Then fails with a line for each problem that axe finds in the page. */
export async function expectAccessible(page: Page, view = '', isOtherTheme = false): Promise<void> {
  // Runs through the debugger, which the content security policy does not block.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate((await import('axe-core')).default.source);
  await page.locator('.table-scroll.stale').first().waitFor({ state: 'detached' });
  const runOnly: axe.RunOnly = isOtherTheme ? { type: 'rule', values: RULES_OF_COLORS } : { type: 'tag', values: TAGS };
  const violations = await page.evaluate(async (rules) => {
    // Scrolls to the top, because axe reports controls that the top bar half covers as too small.
    window.scrollTo(0, 0);
    const { axe: inPage } = window as unknown as { readonly axe: typeof axe };
    const found = await inPage.run(document, { runOnly: rules, resultTypes: ['violations'] });
    return found.violations.flatMap(({ id, nodes }) =>
      nodes.map(
        ({ target, failureSummary = '' }) => `${id} at ${target.join(' ')}: ${failureSummary.replace(/\s+/g, ' ')}`,
      ),
    );
  }, runOnly);
  expect(violations, `problems found by axe ${view}`).toEqual([]);
}

/** Fails if anything is wider than the page, so that users would have to scroll sideways. */
export async function expectNoSidewaysScroll(page: Page, view = ''): Promise<void> {
  const [content, window] = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return [scrollWidth, clientWidth] as const;
  });
  expect(content, `the width of the page ${view}`).toBeLessThanOrEqual(window);
}

/** Checks accessibility and width in light and dark, narrow and wide, on one page without reloading it. */
export async function expectAccessibleInEveryView(page: Page): Promise<void> {
  const before = page.viewportSize();
  for (const { theme, width, isOtherTheme } of VIEWS) {
    const view = `(${theme}, ${width} px)`;
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 800 });
    await expectNoSidewaysScroll(page, view);
    await expectAccessible(page, view, isOtherTheme);
  }
  if (before !== null) await page.setViewportSize(before);
}
