import type { Mutant } from './mutant.ts';

/** Mistakes about metrics and monitoring. */
export const METRICS: readonly Mutant[] = [
  {
    name: 'response-counted-twice',
    mistake: 'a response is counted again when its connection closes',
    find: '  context.isNoted = true;',
    replace: '',
    witnesses: [{ file: 'test/metrics/metrics.test.ts', only: 'every request is counted once' }],
  },
  {
    name: 'unknown-not-counted',
    mistake: 'transfers whose outcome stays unknown are not counted',
    find: '      if (made !== undefined) unknown += 1;',
    replace: '',
    witnesses: [{ file: 'test/metrics/commit-observer.test.ts' }],
  },
  {
    name: 'books-verified-by-everybody',
    mistake: 'a process that waited does not check whether another process has just verified the books',
    find: '    if (!isDue(toLastVerification(await run(client, READ_LAST_VERIFICATION)))) return undefined;',
    replace: '',
    also: [
      {
        find: '    if (prepared?.taken !== true) return undefined;',
        replace: '    if (prepared === undefined) return undefined;',
      },
    ],
    witnesses: [{ file: 'test/metrics/books-verification.test.ts', only: 'several processes' }],
  },
];
