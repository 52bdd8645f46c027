// Runs the suites about PostgreSQL on an unmodified PostgreSQL 15 of a distribution, with a role that owns only its database.
// Then compares the time of a transfer on it with the time on the embedded server. Part of `npm run verify`.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DEBIAN_POSTGRES, reportMissing, root } from '../command.ts';

const SUITES = ['api', 'store', 'plans'];

/** The maximum ratio of a transfer's time on the stock server to the embedded one. */
const MOST_RATIO = 1.3;

/** Other work on the machine can slow down one of the two servers. So there are several measurements, and the best one counts. */
const MEASUREMENTS = 3;

const binaries = process.env.TEST_POSTGRES_BIN || DEBIAN_POSTGRES;
// Only the suites run on these binaries. The comparison needs both servers.
delete process.env.TEST_POSTGRES_BIN;
if (!existsSync(join(binaries, 'initdb'))) {
  reportMissing(
    `There is no PostgreSQL in ${binaries}. Install PostgreSQL 15 (on Debian 12: apt-get install postgresql-15), ` +
      'or set TEST_POSTGRES_BIN to the directory of its initdb and postgres.',
  );
} else {
  const isRight = runSuites();
  const isFast = await compare();
  if (!isRight || !isFast) process.exitCode = 1;
}

function runSuites(): boolean {
  console.log(`The suites ${SUITES.join(', ')} on ${binaries}:`);
  const environment = { ...process.env, TEST_POSTGRES_BIN: binaries };
  const words = [join(root, 'tools/check.ts'), ...SUITES];
  return spawnSync(process.execPath, words, { env: environment, stdio: 'inherit' }).status === 0;
}

async function compare(): Promise<boolean> {
  const { compareSpeed } = await import('../../test/harness/server-speed.ts');
  for (let measurement = 1; measurement <= MEASUREMENTS; measurement += 1) {
    const { embedded, stock, ratio, failures } = await compareSpeed(binaries);
    console.log(
      `A transfer takes ${embedded.toFixed(2)} ms on the embedded server and ${stock.toFixed(2)} ms on this one: ` +
        `${ratio.toFixed(2)} x, at most ${MOST_RATIO} x. Of 250 create_card, 50 at a time, ${failures.length} failed.`,
    );
    const gone = failures.filter((status) => status !== 503);
    if (gone.length > 0) return false;
    if (ratio <= MOST_RATIO) return true;
  }
  return false;
}
