/** What one check of `doctor` came to. The command line checks the way to a service, and a process on its host the rest. */
export type Check = {
  readonly name: string;
  readonly outcome: 'ok' | 'warning' | 'problem';
  /** What was found, and if it is not ok, what to do. */
  readonly message: string;
  /** The page of the runbook, from the root of the project; null if there is none for it. */
  readonly runbook: string | null;
};

/** A check that found nothing wrong. */
export function ok(name: string, message: string): Check {
  return { name, outcome: 'ok', message, runbook: null };
}

/** A check that found something that is worth a look. */
export function warning(name: string, message: string, page: string | null = null): Check {
  return { name, outcome: 'warning', message, runbook: pathOf(page) };
}

/** A check that found what prevents the service, or calls of it. */
export function problem(name: string, message: string, page: string | null = null): Check {
  return { name, outcome: 'problem', message, runbook: pathOf(page) };
}

function pathOf(page: string | null): string | null {
  return page === null ? null : `docs/runbook/${page}.md`;
}
