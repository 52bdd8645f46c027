import { INCOMPLETE } from '../command.ts';

/** Reports what cannot be checked on this machine and what to install for it; `npm run verify` counts it as skipped. */
export function reportMissing(sentence: string): void {
  console.log(`${MISSING}${sentence}`);
  // An earlier failure stays one.
  process.exitCode ||= INCOMPLETE;
}

/** Where Debian and Ubuntu put the oldest PostgreSQL that the service supports. */
export const DEBIAN_POSTGRES = '/usr/lib/postgresql/15/bin';

/** How those lines begin. */
export const MISSING = 'skipped: ';

/** Reports how much a program did that counts up until its time is over; `npm run verify` prints it. */
export function reportCount(done: number, planned: number, what: string): void {
  console.log(`${COUNTED}${done} of ${planned} ${what}, in ${(performance.now() / 1000).toFixed(0)} s`);
}

/** How those lines begin. */
export const COUNTED = 'did: ';
