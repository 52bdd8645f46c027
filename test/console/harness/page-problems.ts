import type { ConsoleMessage, Page } from 'playwright-core';

const PROBLEMS = new WeakMap<Page, string[]>();

/**
 * Returns whether a message is about an API response of 400 or above. The console shows these to the user, but the
 * browser logs them too.
 */
function isAnswerOfApi(message: ConsoleMessage): boolean {
  return (
    message.text().startsWith('Failed to load resource') && new URL(message.location().url).pathname.startsWith('/api/')
  );
}

/**
 * Makes a page log all violations of its content security policy, because the browser itself does not log all of them.
 * Call it once per page.
 */
export function logViolations(page: Page): Promise<unknown> {
  return page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
      console.error(`violated ${violatedDirective}: ${blockedURI} in ${sourceFile}`);
    });
  });
}

/**
 * Records problems of a page: a logged error or warning, a violation of the content security policy, an unhandled rejection or
 * exception, a file that fails to load, a request to a different host, or a 500 while the database runs.
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

/**
 * Forgets files that an overloaded service refused to serve. Returns true if there were any, because the page must then
 * be reloaded.
 */
export function forgetRefusedFiles(page: Page): boolean {
  const problems = PROBLEMS.get(page) ?? [];
  if (!problems.some((problem) => problem.includes('status of 503'))) return false;
  problems.splice(0, problems.length);
  return true;
}

/** Returns the page's problems so far, one per line. */
export function problemsOf(page: Page): readonly string[] {
  return PROBLEMS.get(page) ?? [];
}

/** Removes the problems that a test causes on purpose. Fails if there were none. */
export function expectProblem(page: Page, pattern: RegExp): void {
  const problems = PROBLEMS.get(page) ?? [];
  const others = problems.filter((problem) => !pattern.test(problem));
  if (others.length === problems.length) throw new Error(`no problem like ${pattern}, only: ${problems.join('; ')}`);
  problems.splice(0, problems.length, ...others);
}
