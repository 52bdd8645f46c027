// Runs the commands that docs/backups.md gives for your own database with pgBackRest, on PostgreSQL 15. Part of `npm
// run verify`.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DEBIAN_POSTGRES, reportMissing } from '../command.ts';

const binaries = process.env.TEST_POSTGRES_BIN || DEBIAN_POSTGRES;

const lacking = [
  ...(existsSync(join(binaries, 'initdb')) ? [] : [`PostgreSQL 15 in ${binaries} (apt-get install postgresql-15)`]),
  ...(spawnSync('pgbackrest', ['version']).status === 0 ? [] : ['pgBackRest (apt-get install pgbackrest)']),
];
if (lacking.length > 0) {
  reportMissing(`pgBackRest was not tried. Missing: ${lacking.join(' and ')}.`);
} else {
  // The services of this trial must not use these binaries automatically.
  delete process.env.TEST_POSTGRES_BIN;
  const { tryPgbackrest } = await import('../../test/embedded/pgbackrest-trial.ts');
  await tryPgbackrest(binaries);
}
