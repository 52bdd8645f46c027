import type { ConsoleMessage, Page } from 'playwright-core';

const PROBLEMS = new WeakMap<Page, string[]>();

/** Answers of 400 and above of the API are shown by the console, and the browser logs them besides. */
function isAnswerOfApi(message: ConsoleMessage): boolean {
  return (
    message.text().startsWith('Failed to load resource') && new URL(message.location().url).pathname.startsWith('/api/')
  );
}

/** Lets a page log violations of its policy, which the browser does itself for most of them. Once for each page. */
export function logViolations(page: Page): Promise<unknown> {
  return page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
      console.error(`violated ${violatedDirective}: ${blockedURI} in ${sourceFile}`);
    });
  });
}

/**
 * Notes what no page of ours may do: log an error or a warning, violate the content security policy, leave a rejection or
 * an exception unhandled, fail to load what belongs to it, ask another host, or get 500 while the database runs.
 */
export function watchForProblems(page: Page, ownUrl: string, wasStopped: () => boolean): void {
  const problems: string[] = [];
  PROBLEMS.set(page, problems);
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type()) || isAnswerOfApi(message)) return;
    problems.push(`${message.type()} in the console of the browser: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`not handled: ${error.stack ?? error.message}`));
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol.startsWith('http') && origin !== ownUrl) problems.push(`asked another host: ${request.url()}`);
  });
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (response.status() === 500 && !wasStopped()) problems.push(`500 for ${response.request().method()} ${pathname}`);
  });
}

/** Forgets files that an overloaded service refused; whether there were any, so that the page has to be loaded again. */
export function forgetRefusedFiles(page: Page): boolean {
  const problems = PROBLEMS.get(page) ?? [];
  if (!problems.some((problem) => problem.includes('status of 503'))) return false;
  problems.splice(0, problems.length);
  return true;
}

/** What the page has done wrong so far, a line each. */
export function problemsOf(page: Page): readonly string[] {
  return PROBLEMS.get(page) ?? [];
}

/** Takes out the problems that a test provokes; fails if there was none of them. */
export function expectProblem(page: Page, pattern: RegExp): void {
  const problems = PROBLEMS.get(page) ?? [];
  const others = problems.filter((problem) => !pattern.test(problem));
  if (others.length === problems.length) throw new Error(`no problem like ${pattern}, only: ${problems.join('; ')}`);
  problems.splice(0, problems.length, ...others);
}
