/**
 * The result of one check of `doctor`. The command line checks the connection to a service. A process on the service's host
 * checks the rest.
 */
export type Check = {
  readonly name: string;
  readonly outcome: 'ok' | 'warning' | 'problem';
  /** The finding, and what to do if it is not ok. */
  readonly message: string;
  /** The page of the runbook, relative to the root of the project, or null if it has none. */
  readonly runbook: string | null;
};

/** A check that passed. */
export function ok(name: string, message: string): Check {
  return { name, outcome: 'ok', message, runbook: null };
}

/** A check that found something worth looking at. */
export function warning(name: string, message: string, page: string | null = null): Check {
  return { name, outcome: 'warning', message, runbook: pathOf(page) };
}

/** A check that found a problem that stops the service from working, or calls from reaching it. */
export function problem(name: string, message: string, page: string | null = null): Check {
  return { name, outcome: 'problem', message, runbook: pathOf(page) };
}

function pathOf(page: string | null): string | null {
  return page === null ? null : `docs/runbook/${page}.md`;
}
