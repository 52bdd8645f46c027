import type { RunbookPage } from './runbook.ts';

/**
 * A problem that prevents the service from starting, and that an operator can fix.
 *
 * The message names the problem and the fix, and the page of the runbook has the details. `main.ts` prints both without a stack,
 * because such a problem is not a bug, and exits with a non-zero status.
 */
export class StartupProblem extends Error {
  override readonly name = 'StartupProblem';
  readonly page: RunbookPage;

  constructor(page: RunbookPage, message: string, options?: ErrorOptions) {
    super(message, options);
    this.page = page;
  }
}

/** Returns the `code` of an error from the operating system (`ENOENT`, `EACCES`, ...) or from PostgreSQL (`57P03`, ...). */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Error codes of the operating system and PostgreSQL for a full disk or an exceeded quota. */
const DISK_FULL_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', '53100']);
/** SQLite's error code for a full disk. The `code` of all SQLite errors is the same, so it cannot be used. */
const SQLITE_FULL = 13;
const DISK_FULL_WORDS = /no space left on device|disk quota exceeded|disk is full/i;

/** Returns whether an error, one of its causes, or the output of a program such as `initdb` reports a full disk. */
export function isDiskFull(problem: unknown): boolean {
  if (typeof problem === 'string') return DISK_FULL_WORDS.test(problem);
  if (!(problem instanceof Error)) return false;
  if (DISK_FULL_CODES.has(codeOf(problem) ?? '')) return true;
  if ('errcode' in problem && problem.errcode === SQLITE_FULL) return true;
  return isDiskFull(problem.cause);
}

/** Returns the problem of a full disk. `what` is the part of the sentence that says what failed, and where. */
export function diskFullProblem(what: string, cause?: unknown): StartupProblem {
  return new StartupProblem('disk-full', `${what}: the disk is full. Free up space on it and try again.`, { cause });
}

const SAY_EVERY_MILLISECONDS = 5_000;

/**
 * Runs work that the startup or a command waits for, without a time limit. During the wait, calls `say` at intervals with the
 * number of seconds so far, so that it can tell the operator the reason.
 */
export async function sayWhileWaiting<Result>(
  say: (seconds: number) => void,
  work: () => Promise<Result>,
  everyMilliseconds: number = SAY_EVERY_MILLISECONDS,
): Promise<Result> {
  const begun = performance.now();
  const timer = setInterval(() => say(Math.round((performance.now() - begun) / 1000)), everyMilliseconds);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
