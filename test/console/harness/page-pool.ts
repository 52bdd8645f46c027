import type { BrowserContext, Page } from 'playwright-core';
import { OPERATIONS } from '../../../contract/operations.ts';
import { sharedBrowser } from './browser.ts';
import { forgetRefusedFiles, logViolations, problemsOf, watchForProblems } from './page-problems.ts';

/** The events for which a test may have added listeners. */
const EVENTS = [
  'console',
  'dialog',
  'download',
  'framenavigated',
  'pageerror',
  'request',
  'requestfailed',
  'requestfinished',
  'response',
] as const;

export type Look = { readonly theme: 'light' | 'dark'; readonly width: number };

/** The maximum number of times a page is loaded. */
const MAX_LOADS = 20;

/** Reloads a page until an overloaded service has served all its files. */
async function untilComplete<Answer>(page: Page, load: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await load();
    if (attempt === MAX_LOADS || !forgetRefusedFiles(page)) return answer;
  }
}

/**
 * A pool of pages of one service. A new page takes three times the CPU time of a reload, so most tests reuse a page,
 * cleared of its cookies, storage and listeners.
 */
export class PagePool {
  readonly #url: string;
  readonly #maxWaitMilliseconds: number;
  readonly #free: Page[] = [];
  readonly #used: BrowserContext[] = [];
  #wasStopped = false;

  constructor(url: string, maxWaitMilliseconds: number) {
    this.#url = url;
    this.#maxWaitMilliseconds = maxWaitMilliseconds;
  }

  /** Returns a page without cookies. */
  async take({ theme, width }: Look): Promise<Page> {
    const page = this.#free.pop() ?? (await this.#create());
    this.#used.push(page.context());
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: 800 });
    watchForProblems(page, this.#url, () => this.#wasStopped);
    // A page can also stop the database, from the sandbox screen, and it continues to poll after that.
    page.on('request', (request) => {
      if (new URL(request.url()).pathname === OPERATIONS.stop_database.path) this.noteStop();
    });
    return page;
  }

  /** Takes all pages back and returns their problems. */
  async takeBack(): Promise<readonly string[]> {
    const used = this.#used.splice(0);
    this.#wasStopped = false;
    const problems = used.flatMap((context) => context.pages()).flatMap(problemsOf);
    await Promise.all(used.map((context) => this.#clean(context).catch(() => context.close())));
    return problems;
  }

  /** Records that the test stops the database. Until the test ends, pages may get a 500. */
  noteStop(): void {
    this.#wasStopped = true;
  }

  async close(): Promise<void> {
    await Promise.all(this.#free.map((page) => page.context().close()));
  }

  async #create(): Promise<Page> {
    const browser = await sharedBrowser();
    const context = await browser.newContext({
      baseURL: this.#url,
      // This is neither UTC nor the machine's time zone, so a test notices a time in the wrong zone.
      timezoneId: 'America/New_York',
      locale: 'en-GB',
    });
    context.setDefaultTimeout(this.#maxWaitMilliseconds);
    const page = await context.newPage();
    await logViolations(page);
    const [load, reload] = [page.goto.bind(page), page.reload.bind(page)];
    page.goto = (...call) => untilComplete(page, () => load(...call));
    page.reload = (...call) => untilComplete(page, () => reload(...call));
    return page;
  }

  /** Resets a page. Rejects if a test has opened or closed pages, or if the page has left the service. */
  async #clean(context: BrowserContext): Promise<void> {
    const [page, ...others] = context.pages();
    if (page === undefined || others.length > 0) throw new Error('the context does not have exactly one page');
    for (const event of EVENTS) page.removeAllListeners(event);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.clearCookies();
    // Keeps the page, because an empty page would run in a different process. Makes it seem hidden, so that it sends no requests
    // until it is loaded again.
    await page.evaluate(() => {
      window.localStorage.clear();
      window.sessionStorage.clear();
      Object.defineProperty(document, 'visibilityState', { value: 'hidden' });
    });
    this.#free.push(page);
  }
}
