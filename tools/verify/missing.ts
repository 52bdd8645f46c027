import { INCOMPLETE } from '../command.ts';

/** Says what cannot be checked on this machine and what would have to be installed; `npm run verify` counts it as skipped. */
export function reportMissing(sentence: string): void {
  console.log(`${MISSING}${sentence}`);
  // What has failed stays a failure.
  process.exitCode ||= INCOMPLETE;
}

/** How those lines begin. */
export const MISSING = 'skipped: ';
