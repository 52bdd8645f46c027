import type { Page, Request } from 'playwright-core';
import { expect } from 'vitest';

/** One stop of the Tab key. */
export type Stop = {
  /** What it is, for a person: its element, name and place. */
  readonly label: string;
  readonly hasName: boolean;
  /** Whether it lies in the window and nothing covers it. */
  readonly isVisible: boolean;
  /** Whether it looks different from itself without focus. */
  readonly isMarked: boolean;
};

/** The requests of a page, from now on, that have not ended. */
export function requestsOf(page: Page): ReadonlySet<Request> {
  const open = new Set<Request>();
  page.on('request', (request) => open.add(request));
  page.on('requestfinished', (request) => open.delete(request));
  page.on('requestfailed', (request) => open.delete(request));
  return open;
}

/**
 * Lets a page read nothing more, as one that is hidden, and waits until what it has read is shown: a row, a chart or a link
 * that comes during a walk by Tab is not reached if it is before the focus.
 */
export async function stopReading(page: Page, requests: ReadonlySet<Request>): Promise<void> {
  await page.evaluate(() => Object.defineProperty(document, 'visibilityState', { value: 'hidden' }));
  await expect.poll(() => requests.size).toBe(0);
  await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))));
}

/** More stops than any screen has. */
const MAX_STOPS = 300;

/**
 * Presses Tab from the beginning of the page until the focus leaves it. Gives every stop, and what a mouse could use but
 * Tab did not reach.
 */
export async function walkByTab(
  page: Page,
): Promise<{ readonly stops: readonly Stop[]; readonly missed: readonly string[] }> {
  await page.evaluate(() => {
    // Tab begins where the focus was last: an element before all others, which goes as soon as it has had it.
    const beginning = document.createElement('span');
    beginning.tabIndex = -1;
    document.body.prepend(beginning);
    beginning.focus();
    beginning.remove();
    for (const element of document.querySelectorAll('[data-reached]')) element.removeAttribute('data-reached');
  });
  const stops: Stop[] = [];
  for (let count = 0; count < MAX_STOPS; count += 1) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(lookAtFocus);
    if (stop === 'the end') break;
    if (stop !== 'the same') stops.push(stop);
  }
  return { stops, missed: await page.evaluate(findMissed) };
}

/** Runs in the page. The end is where nothing has the focus, or what had it before; parts of a date are the same field. */
function lookAtFocus(): Stop | 'the same' | 'the end' {
  const element = document.activeElement;
  if (!(element instanceof HTMLElement) || element === document.body) return 'the end';
  const last = document.querySelector('[data-reached="last"]');
  if (element === last) return 'the same';
  if (element.dataset.reached !== undefined) return 'the end';
  last?.setAttribute('data-reached', 'before');
  element.dataset.reached = 'last';
  const labelled = element.getAttribute('aria-labelledby');
  const name = [
    element.getAttribute('aria-label'),
    labelled === null ? null : document.getElementById(labelled)?.textContent,
    'labels' in element
      ? [...((element as HTMLInputElement).labels ?? [])].map((label) => label.textContent).join(' ')
      : null,
    element.textContent,
    element.title,
  ].find((text) => text !== null && text !== undefined && text.trim() !== '');
  // Of a link over two lines the first: the middle of both may lie beside it.
  const [line = element.getBoundingClientRect()] = element.getClientRects();
  const { top, left, bottom, right, width, height } = line;
  const isInside = width > 0 && height > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  const [x, y] = [
    (Math.max(left, 0) + Math.min(right, innerWidth)) / 2,
    (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2,
  ];
  const above = document.elementFromPoint(x, y);
  const isCovered =
    above === null || !(element.contains(above) || above.contains(element) || above.closest('label') !== null);
  const looks = () => {
    const { outlineStyle, outlineWidth, boxShadow, borderColor, backgroundColor, textDecoration } =
      getComputedStyle(element);
    return JSON.stringify([
      outlineStyle === 'none' ? '' : outlineStyle + outlineWidth,
      boxShadow,
      borderColor,
      backgroundColor,
      textDecoration,
    ]);
  };
  const focused = looks();
  element.blur();
  const plain = looks();
  element.focus();
  return {
    label: `${element.tagName.toLowerCase()} '${(name ?? '').trim().slice(0, 40)}' (${element.className})`,
    hasName: name !== undefined,
    isVisible: isInside && !isCovered,
    isMarked: focused !== plain,
  };
}

/** Runs in the page. */
function findMissed(): readonly string[] {
  const usable =
    'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary';
  return (
    [...document.querySelectorAll<HTMLElement>(usable)]
      .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
      .filter((element) => element.closest('[inert]') === null && element.dataset.reached === undefined)
      // Of the radio buttons of a group Tab reaches one; arrows reach the others.
      .filter((element) => !(element instanceof HTMLInputElement && element.type === 'radio'))
      .map(
        (element) =>
          `${element.tagName.toLowerCase()} '${(element.textContent ?? '').trim().slice(0, 40)}' (${element.className})`,
      )
  );
}
