import type { RunbookPage } from '../../foundation/runbook.ts';
import { codeOf, diskFullProblem, isDiskFull, StartupProblem } from '../../foundation/startup-problem.ts';
import {
  DISK_FULL,
  INSUFFICIENT_PRIVILEGE,
  isLostConnection,
  lacksStandby,
  NoWritableHost,
  READ_ONLY,
  serverErrorOf,
  TOO_MANY_CONNECTIONS,
} from './failure.ts';

/**
 * Classes of SQLSTATEs whose cause an operator can fix. They concern the server, its settings or the privileges of the user:
 * connections, read-only, authorization, missing database or schema, resources, locks, shutdowns, input and output, corrupted
 * data. Any other class during startup is a bug in the service, and is reported with its stack.
 */
const OPERATORS_CLASSES: ReadonlySet<string> = new Set(['08', '25', '28', '3D', '3F', '53', '55', '57', '58', 'XX']);

/** Advice for SQLSTATEs whose messages contain no advice. */
const ADVICE: Readonly<Record<string, string>> = {
  [INSUFFICIENT_PRIVILEGE]: 'Grant that privilege to the user of DATABASE_URL, or use the owner of the database.',
  [READ_ONLY]: 'The database is read-only: make it writable, or set DATABASE_URL to its primary server.',
};

/**
 * Converts an error that stopped the startup, or a command on the host, into a sentence for the operator. Returns a bug
 * unchanged, so that it ends the process with its stack.
 */
export function explainStartFailure(error: unknown): unknown {
  if (error instanceof StartupProblem) return error;
  const unwritable = error instanceof NoWritableHost ? error : error instanceof Error ? error.cause : undefined;
  if (unwritable instanceof NoWritableHost) {
    const reason = `The database of DATABASE_URL cannot be used: ${unwritable.message}.`;
    const advice = 'Check that its primary is running and reachable.';
    return new StartupProblem(pageOf(unwritable.code ?? ''), `${reason} ${advice}`, { cause: error });
  }
  const reported = serverErrorOf(error);
  if (isDiskFull(error)) {
    const what = reported === undefined ? messageOf(error) : `PostgreSQL cannot write (${reported.message})`;
    return diskFullProblem(what, error);
  }
  if (lacksStandby(error)) {
    return new StartupProblem(
      'standby-missing',
      'DATABASE_STANDBY is required, and no synchronous standby is set in the database, so nothing can be written. ' +
        'Set synchronous_standby_names there, or unset DATABASE_STANDBY.',
      { cause: error },
    );
  }
  if (reported === undefined) {
    if (!isLostConnection(error)) return error;
    const reason = `The connection to the database was lost (${messageOf(error)}).`;
    return new StartupProblem('database-unreachable', `${reason} Check that PostgreSQL is running and reachable.`, {
      cause: error,
    });
  }
  const code = codeOf(reported) ?? '';
  if (code !== INSUFFICIENT_PRIVILEGE && !OPERATORS_CLASSES.has(code.slice(0, 2))) return error;
  const advice = reported.hint ?? ADVICE[code] ?? 'See the log of PostgreSQL for details.';
  const reason = `PostgreSQL refused a statement: ${reported.message} (SQLSTATE ${code}).`;
  return new StartupProblem(pageOf(code), `${reason} ${advice}`, { cause: error });
}

/** Returns the page for an error of PostgreSQL, given its SQLSTATE, or for an error of the connection, which has no SQLSTATE. */
export function pageOf(code: string): RunbookPage {
  if (code === TOO_MANY_CONNECTIONS) return 'few-connections';
  if (code === DISK_FULL) return 'disk-full';
  if (code === INSUFFICIENT_PRIVILEGE) return 'database-rights';
  if (code === READ_ONLY) return 'database-read-only';
  return /^[0-9FHPX][0-9A-Z]{4}$/.test(code) && !/^(08|28|3D|57)/.test(code)
    ? 'database-refused-statement'
    : 'database-unreachable';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || String(codeOf(error)) : String(error);
}
