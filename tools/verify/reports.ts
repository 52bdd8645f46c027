import { INCOMPLETE } from '../command.ts';

/** Reports a check that cannot run on this machine, and what to install for it. `npm run verify` counts it as skipped. */
export function reportMissing(sentence: string): void {
  console.log(`${MISSING}${sentence}`);
  // Keeps the exit code of an earlier failure.
  process.exitCode ||= INCOMPLETE;
}

/** The folder of the oldest supported PostgreSQL on Debian and Ubuntu. */
export const DEBIAN_POSTGRES = '/usr/lib/postgresql/15/bin';

/** The beginning of a line of {@link reportMissing}. */
export const MISSING = 'skipped: ';

/** Reports how much a program did within its time budget. `npm run verify` prints it. */
export function reportCount(done: number, planned: number, what: string): void {
  console.log(`${COUNTED}${done} of ${planned} ${what}, in ${(performance.now() / 1000).toFixed(0)} s`);
}

/** The beginning of a line of {@link reportCount}. */
export const COUNTED = 'did: ';
