import type { Mutant } from './mutant.ts';

const INDEX = 'test/upgrade/concurrent-index.test.ts';

/** Mistakes about the schemas that a version may run on, and about running migrations. */
export const UPGRADES: readonly Mutant[] = [
  {
    name: 'contract-migration-accepted',
    mistake: 'a version runs on any newer schema, even if a migration removed something that it needs',
    find: 'needs !== null && numbers.has(needs);',
    replace: 'needs !== null && numbers.size > 0;',
    witnesses: [{ file: 'test/upgrade/compatibility.test.ts', only: 'even by migrate, if one of them needs' }],
  },
  {
    name: 'compact-payloads-beside-an-older-version',
    mistake: 'compact payloads are written although an older version that may still run would send them unexpanded',
    find: "coalesce(max(needs), '') >= '0046' as compacts",
    replace: "max(name) >= '0046' as compacts",
    witnesses: [
      { file: 'test/upgrade/compatibility.test.ts', only: 'are not written on a ledger of an older version' },
    ],
  },
  {
    name: 'older-version-on-a-new-ledger',
    mistake: "a version may run on a new ledger although it cannot read the ledger's events",
    find: 'needs: isNew ? numberOf(migration.name) : needs',
    replace: 'needs',
    witnesses: [{ file: 'test/upgrade/compatibility.test.ts', only: 'are written on a ledger that begins' }],
  },
  {
    name: 'half-built-index-kept',
    mistake: 'an index whose build was interrupted counts as built',
    find: 'select indisvalid as valid from pg_index',
    replace: 'select true as valid from pg_index',
    witnesses: [{ file: INDEX, only: 'migrate is killed' }],
  },
  {
    name: 'turn-waited-for-in-a-statement',
    mistake: 'a process that waits for its turn to migrate blocks the index build of the other process: a deadlock',
    find: 'select pg_try_advisory_lock($1) as ours',
    replace: 'select true as ours from pg_advisory_lock($1)',
    witnesses: [{ file: INDEX, only: 'two processes that migrate at once' }],
  },
];
