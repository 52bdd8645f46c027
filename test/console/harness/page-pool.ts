import type { BrowserContext, Page } from 'playwright-core';
import { OPERATIONS } from '../../../contract/operations.ts';
import { sharedBrowser } from './browser.ts';
import { forgetRefusedFiles, logViolations, problemsOf, watchForProblems } from './page-problems.ts';

/** What a test may have listened to. */
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

/** How a page looks. */
export type Look = { readonly theme: 'light' | 'dark'; readonly width: number };

/** More loads of a page are not tried. */
const MAX_LOADS = 20;

/** Loads a page again while a service on a busy machine refuses a part of it as more than it can do. */
async function untilComplete<Answer>(page: Page, load: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await load();
    if (attempt === MAX_LOADS || !forgetRefusedFiles(page)) return answer;
  }
}

/**
 * Pages of one service. A new one costs three times the processor time of a page that is loaded again, so that most tests get
 * one that was used before, without its cookies, its storage and everything that listened to it.
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

  /** An empty page without cookies. */
  async take({ theme, width }: Look): Promise<Page> {
    const page = this.#free.pop() ?? (await this.#create());
    this.#used.push(page.context());
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: 800 });
    watchForProblems(page, this.#url, () => this.#wasStopped);
    // A page of a sandbox can stop the database, too, and goes on asking meanwhile.
    page.on('request', (request) => {
      if (new URL(request.url()).pathname === OPERATIONS.stop_database.path) this.noteStop();
    });
    return page;
  }

  /** Takes all pages back; gives what they did wrong. */
  async takeBack(): Promise<readonly string[]> {
    const used = this.#used.splice(0);
    this.#wasStopped = false;
    const problems = used.flatMap((context) => context.pages()).flatMap(problemsOf);
    await Promise.all(used.map((context) => this.#clean(context).catch(() => context.close())));
    return problems;
  }

  /** Says that the test stops the database: until it is over, pages may get 500. */
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
      // Neither that of the machine nor UTC, so that a time shown in the wrong one is seen.
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

  /** Makes a page as good as new. Rejects where a test has opened or closed pages, or left the service. */
  async #clean(context: BrowserContext): Promise<void> {
    const [page, ...others] = context.pages();
    if (page === undefined || others.length > 0) throw new Error('not the one page');
    for (const event of EVENTS) page.removeAllListeners(event);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.clearCookies();
    // An empty page would be one of another process. A hidden one asks nothing more, until it is loaded again.
    await page.evaluate(() => {
      window.localStorage.clear();
      window.sessionStorage.clear();
      Object.defineProperty(document, 'visibilityState', { value: 'hidden' });
    });
    this.#free.push(page);
  }
}
