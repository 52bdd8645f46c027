/**
 * A condition that keeps the service from starting and that an operator can mend.
 *
 * The message is one clear sentence that says what is wrong and what to do. `main.ts` prints it without a stack and
 * ends with a non-zero status: a stack would suggest a bug where there is only something to set right.
 */
export class StartupProblem extends Error {
  override readonly name = 'StartupProblem';
}

/** The `code` of an error from the operating system (`ENOENT`, `EACCES`, ...) or from PostgreSQL (`57P03`, ...). */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** What the operating system and PostgreSQL call a full disk, or a quota that is used up. */
const DISK_FULL_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', '53100']);
/** The same from SQLite, whose errors all have one `code`. */
const SQLITE_FULL = 13;
const DISK_FULL_WORDS = /no space left on device|disk quota exceeded|disk is full/i;

/**
 * Whether an error, or one that caused it, says that a disk is full. A program that was started, such as `initdb`, says
 * so in words only: its output may be given instead.
 */
export function isDiskFull(problem: unknown): boolean {
  if (typeof problem === 'string') return DISK_FULL_WORDS.test(problem);
  if (!(problem instanceof Error)) return false;
  if (DISK_FULL_CODES.has(codeOf(problem) ?? '')) return true;
  if ('errcode' in problem && problem.errcode === SQLITE_FULL) return true;
  return isDiskFull(problem.cause);
}

/** `what` is the part of the sentence that says what could not be done, and where. */
export function diskFullProblem(what: string, cause?: unknown): StartupProblem {
  return new StartupProblem(`${what}: the disk is full. Free up space on it and try again.`, { cause });
}
