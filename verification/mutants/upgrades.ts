import type { Mutants } from './mutant.ts';

const INDEX = 'test/upgrade/concurrent-index.test.ts';

/** Mistakes about the schemas that a version may run on, and about running migrations. */
export const UPGRADES: Mutants = {
  'contract-migration-accepted': {
    mistake: 'a version runs on any newer schema, even if a migration removed something that it needs',
    edits: { compareSchema: ['numbers.has(needs)', 'numbers.size > 0'] },
    witnesses: [{ file: 'test/upgrade/compatibility.test.ts', only: 'even by migrate, if one of them needs' }],
  },
  'compact-payloads-beside-an-older-version': {
    mistake: 'compact payloads are written although an older version that may still run would send them unexpanded',
    edits: { readSchema: ["coalesce(max(needs), '')", 'max(name)'] },
    witnesses: [
      { file: 'test/upgrade/compatibility.test.ts', only: 'are not written on a ledger of an older version' },
    ],
  },
  'older-version-on-a-new-ledger': {
    mistake: "a version may run on a new ledger although it cannot read the ledger's events",
    edits: { migrate: ['needs: isNew ? numberOf(migration.name) : needs', 'needs'] },
    witnesses: [
      { file: 'test/upgrade/compatibility.test.ts', only: 'are written on a ledger that this version created' },
    ],
  },
  'half-built-index-kept': {
    mistake: 'an index whose build was interrupted counts as built',
    edits: { keepValidIndex: ['indisvalid as valid', 'true as valid'] },
    witnesses: [{ file: INDEX, only: 'migrate is killed' }],
  },
  'turn-waited-for-in-a-statement': {
    mistake: 'a process that waits for its turn to migrate blocks the index build of the other process: a deadlock',
    edits: { takeTurn: ['pg_try_advisory_lock($1) as ours', 'true as ours from pg_advisory_lock($1)'] },
    witnesses: [{ file: INDEX, only: 'two processes that migrate at once' }],
  },
};
