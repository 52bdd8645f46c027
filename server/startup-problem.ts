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
