// Tries on PostgreSQL 15 what docs/backups.md says about one's own database and pgBackRest. Part of `npm run verify`.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { reportMissing } from './verify/missing.ts';

/** Where Debian puts the oldest PostgreSQL that the service supports. */
const binaries = process.env.TEST_POSTGRES_BIN || '/usr/lib/postgresql/15/bin';

const lacking = [
  ...(existsSync(join(binaries, 'initdb')) ? [] : [`PostgreSQL 15 in ${binaries} (apt-get install postgresql-15)`]),
  ...(spawnSync('pgbackrest', ['version']).status === 0 ? [] : ['pgBackRest (apt-get install pgbackrest)']),
];
if (lacking.length > 0) {
  reportMissing(`The trial of pgBackRest cannot be made without ${lacking.join(' and ')}.`);
} else {
  // Its services must not run on these binaries by themselves.
  delete process.env.TEST_POSTGRES_BIN;
  const { tryPgbackrest } = await import('../test/embedded/pgbackrest-trial.ts');
  await tryPgbackrest(binaries);
}
