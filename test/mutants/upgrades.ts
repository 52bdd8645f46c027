import type { Mutant } from './mutant.ts';

const INDEX = 'test/upgrade/concurrent-index.test.ts';

/** Mistakes about which schemas a program may run on, and how migrations get there. */
export const UPGRADES: readonly Mutant[] = [
  {
    name: 'contract-migration-accepted',
    mistake: 'a program runs on any schema that is newer, also where what it needs was removed',
    find: 'needs !== null && numbers.has(needs);',
    replace: 'needs !== null && numbers.size > 0;',
    witnesses: [{ file: 'test/upgrade/compatibility.test.ts', only: 'is refused where one of them needs' }],
  },
  {
    name: 'compact-payloads-beside-an-older-version',
    mistake: 'payloads are written that a program which may still run would send as they are',
    find: "coalesce(max(needs), '') >= '0046' as compacts",
    replace: "max(name) >= '0046' as compacts",
    witnesses: [{ file: 'test/upgrade/compatibility.test.ts', only: 'are not written on one' }],
  },
  {
    name: 'older-version-on-a-new-ledger',
    mistake: 'a version that cannot read the events of a new ledger may run on it',
    find: 'needs: isNew ? numberOf(migration.name) : needs',
    replace: 'needs',
    witnesses: [{ file: 'test/upgrade/compatibility.test.ts', only: 'are written on a ledger that begins' }],
  },
  {
    name: 'half-built-index-kept',
    mistake: 'an index whose build was ended in the middle counts as built',
    find: 'select indisvalid as valid from pg_index',
    replace: 'select true as valid from pg_index',
    witnesses: [{ file: INDEX, only: 'migrate is killed' }],
  },
  {
    name: 'turn-waited-for-in-a-statement',
    mistake: 'who waits for its turn to migrate holds up the index that the other one builds, which is a deadlock',
    find: 'select pg_try_advisory_lock($1) as ours',
    replace: 'select true as ours from pg_advisory_lock($1)',
    witnesses: [{ file: INDEX, only: 'two that migrate at once' }],
  },
];
