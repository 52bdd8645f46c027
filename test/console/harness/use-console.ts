import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { Role } from '../../../contract/scope.ts';
import { withPatience } from '../../harness/client/patience.ts';
import { ledgerDirectory } from '../../harness/ledger-directory.ts';
import { runCommand, type ServiceProcess, startService } from '../../harness/process.ts';
import { sharedBrowser } from './browser.ts';
import { PagePool } from './page-pool.ts';
import { forgetRefusedFiles } from './page-problems.ts';
import { cookieOfSession, createKey } from './roles.ts';

export type View = {
  /** The role of the session. The default, `nobody`, sends no credentials, so a sandbox treats it as its operator. */
  readonly role?: Role | 'nobody';
  /** A key to use instead of a role's key. */
  readonly key?: string;
  readonly theme?: 'light' | 'dark';
  /** The width of the window in CSS pixels, 1280 by default. */
  readonly width?: number;
};

export type ConsoleTest = {
  readonly service: () => ServiceProcess & { readonly directory: string };
  /**
   * Opens a page and waits until it has loaded. The page is closed after the test, and the test fails if the page has
   * problems that `watchForProblems` records.
   */
  readonly openConsole: (path: string, view?: View) => Promise<Page>;
  /**
   * Returns the secret of a key with a role, which is the same in each call. A role that belongs to a card program
   * needs a program id.
   */
  readonly keyOf: (role: Role) => Promise<string>;
};

/**
 * The longest wait for a page, in milliseconds. Only a page that hangs takes that long. To wait less while you write a
 * test, set MAX_WAIT_MILLISECONDS=5000.
 */
const MAX_WAIT_MILLISECONDS = Number(process.env.MAX_WAIT_MILLISECONDS ?? 120_000);

/** Starts a service on a new ledger for the tests of a file, and opens its pages in the browser of this process. */
export function useConsole({
  mode = 'sandbox',
  settings = {},
}: {
  mode?: 'sandbox' | 'live';
  settings?: Readonly<Record<string, string>>;
} = {}): ConsoleTest {
  let directory: Awaited<ReturnType<typeof ledgerDirectory>> | undefined;
  let service: ServiceProcess | undefined;
  let operatorKey: string | undefined;
  let pages: PagePool | undefined;
  const keys = new Map<Role, Promise<string>>();

  beforeAll(async () => {
    directory = await ledgerDirectory();
    const environment = { DATA_DIR: directory.path, MODE: mode, ...LIMITS, ...settings };
    if (mode === 'live') operatorKey = await firstKey(environment);
    service = withPatience(await startService(environment), () => pages?.noteStop());
    pages = new PagePool(service.url, MAX_WAIT_MILLISECONDS);
    // The browser starts when it opens its first page, which takes longer than opening later ones.
    await sharedBrowser();
  });
  afterEach(async () => {
    expect(await pages?.takeBack(), "problems on this test's pages").toEqual([]);
  });
  afterAll(async () => {
    await pages?.close();
    if (service?.child.exitCode === null && service.child.signalCode === null) await service.stop();
    await directory?.remove();
  });

  const running = (): ServiceProcess & { readonly directory: string } => {
    if (service === undefined || directory === undefined) throw new Error('the service was not started');
    return Object.assign(service, { directory: directory.path });
  };
  const keyOf = (role: Role): Promise<string> => {
    const key = keys.get(role) ?? createKey(running().url, role, operatorKey);
    keys.set(role, key);
    return key;
  };
  const openConsole = async (path: string, view: View = {}): Promise<Page> => {
    const { url } = running();
    const { role = 'nobody', theme = 'light', width = 1280 } = view;
    if (pages === undefined) throw new Error('the service was not started');
    const page = await pages.take({ theme, width });
    const key = view.key ?? (role === 'nobody' ? undefined : await keyOf(role));
    if (key !== undefined) await page.context().addCookies([await cookieOfSession(url, key)]);
    do {
      await page.goto(path);
      await untilShown(page);
      // The files of a screen are loaded after the page itself.
    } while (forgetRefusedFiles(page));
    return page;
  };
  return { service: running, openConsole, keyOf };
}

/** Limits so high that no test reaches them. */
const LIMITS = { RATE_LIMIT_PER_ADDRESS: '999999', RATE_LIMIT_PER_KEY: '999999', SUPPORT_CONTACT: 'help@bank.test' };

/** Creates the tables of a live ledger and a key with all scopes. */
async function firstKey(environment: Readonly<Record<string, string>>): Promise<string> {
  await runCommand(['migrate'], environment);
  const { output, errors } = await runCommand(['operator-key', 'create', '--name', 'of the tests'], environment);
  if (output.trim() === '') throw new Error(`no key: ${errors}`);
  return output.trim();
}

/** Waits until the page has a heading and nothing in it is loading. */
export async function untilShown(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor();
  await expect.poll(() => page.locator('main [aria-busy="true"], main[aria-busy="true"]').count()).toBe(0);
}

/** Goes to a screen like a link does, without reloading the page, and waits like {@link untilShown}. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => {
    // Each path has its own screen element.
    if (new URL(to, window.location.href).pathname !== window.location.pathname) {
      document.querySelector('main h1')?.setAttribute('data-before', '');
    }
    window.history.pushState(null, '', to);
    window.dispatchEvent(new PopStateEvent('popstate'));
  }, path);
  await page.locator('main h1:not([data-before])').waitFor();
  await untilShown(page);
}

/** Signs a page in as one of the sandbox's people. */
export async function signInAs(page: Page, person: 'treasurer' | 'approver'): Promise<void> {
  await page.evaluate(async (who) => {
    const headers = { Console: '1', 'Content-Type': 'application/json' };
    await fetch('/api/v0.1/sandbox/sign-in', { method: 'POST', headers, body: JSON.stringify({ person: who }) });
  }, person);
}

/** Chooses an action on a record from its menu. */
export async function chooseAction(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name, exact: true }).click();
}

/** Opens the menu of actions, and returns the actions that are not possible now, each with its reason. */
export async function refusedActions(page: Page): Promise<Readonly<Record<string, string>>> {
  await page.getByRole('button', { name: 'More', exact: true }).click();
  const items = page.locator('[role="menuitem"][aria-disabled="true"]');
  const refused = await items.evaluateAll((found) =>
    found.map((item) => [item.firstChild?.textContent ?? '', item.querySelector('small')?.textContent ?? ''] as const),
  );
  await pressKeys(page, 'Escape');
  return Object.fromEntries(refused);
}

/** Presses keys one after the other. Spaces separate the keys, which have Playwright's names: `g t`, `Control+k`. */
export async function pressKeys(page: Page, keys: string): Promise<void> {
  const [first = '', second] = keys.split(' ');
  // The letter after `g` must follow soon, even on a busy machine, so both are sent without waiting.
  if (first === 'g' && second !== undefined) {
    await Promise.all([page.keyboard.press(first), page.keyboard.press(second)]);
    return;
  }
  for (const key of keys.split(' ')) await page.keyboard.press(key);
}

/** Collects status messages from now on. The messages disappear after a moment, so a busy test could miss them. */
export async function collectStatuses(page: Page): Promise<() => Promise<readonly string[]>> {
  const said = await page.evaluateHandle(() => {
    const texts: string[] = [];
    new MutationObserver(() => {
      for (const status of document.querySelectorAll('[role="status"]')) texts.push(status.textContent ?? '');
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
    return texts;
  });
  return () => said.evaluate((texts) => texts);
}

/** Saves a screenshot for people to inspect if SCREENSHOTS=<folder> is set. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  // Otherwise the sticky bar would be in the middle of the picture.
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
