import type { Page, Request } from 'playwright-core';
import { expect } from 'vitest';

/** One stop of the Tab key. */
export type Stop = {
  /** A readable description: the element's tag, name and class. */
  readonly label: string;
  readonly hasName: boolean;
  /** Whether the element is in the window and not covered. */
  readonly isVisible: boolean;
  /** Whether the element looks different when it has the focus. */
  readonly isMarked: boolean;
};

/** Returns the set of the page's unfinished requests, which stays up to date after this call. */
export function requestsOf(page: Page): ReadonlySet<Request> {
  const open = new Set<Request>();
  page.on('request', (request) => open.add(request));
  page.on('requestfinished', (request) => open.delete(request));
  page.on('requestfailed', (request) => open.delete(request));
  return open;
}

/**
 * Stops all polling, as in a hidden page, and waits until the last results are shown. Otherwise a row, chart or link
 * could appear before the focus during a walk by Tab, and the walk would miss it.
 */
export async function stopReading(page: Page, requests: ReadonlySet<Request>): Promise<void> {
  await page.evaluate(() => Object.defineProperty(document, 'visibilityState', { value: 'hidden' }));
  await expect.poll(() => requests.size).toBe(0);
  await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))));
}

/** More stops than any screen has. */
const MAX_STOPS = 300;

/**
 * Presses Tab from the start of the page until the focus leaves it. Returns every stop, and every control that can be
 * used with a mouse but that Tab did not reach.
 */
export async function walkByTab(
  page: Page,
): Promise<{ readonly stops: readonly Stop[]; readonly missed: readonly string[] }> {
  await page.evaluate(() => {
    // Tab continues from the last focus, so the walk first focuses an element before all others and then removes it.
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

/**
 * Describes the focused element. Runs in the page. The walk ends when nothing has the focus, or when the focus returns
 * to an earlier stop. The parts of a date count as one field.
 */
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
  // Uses the first line of a link, because the center of a link on two lines may be outside the link.
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

function findMissed(): readonly string[] {
  const usable =
    'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary';
  return (
    [...document.querySelectorAll<HTMLElement>(usable)]
      .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
      .filter((element) => element.closest('[inert]') === null && element.dataset.reached === undefined)
      // Tab reaches only one radio button of a group. Arrow keys reach the others.
      .filter((element) => !(element instanceof HTMLInputElement && element.type === 'radio'))
      .map(
        (element) =>
          `${element.tagName.toLowerCase()} '${(element.textContent ?? '').trim().slice(0, 40)}' (${element.className})`,
      )
  );
}
