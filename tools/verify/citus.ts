// Builds Citus from CITUS_SOURCE for Debian's PostgreSQL 15, in a separate directory. With it, runs the suite api with a ledger
// on a node of a Citus cluster, the `distribute` command, and short versions of the campaigns with such ledgers. Part of `npm run
// verify`.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CAMPAIGNS } from '../../verification/campaigns.ts';
import { DEBIAN_POSTGRES, reportMissing, root } from '../command.ts';

const ON_CITUS = CAMPAIGNS.filter(({ ring }) => ring === 'npm run verify -- citus').map(({ name }) => name);

/** The parts, each with its arguments, in an environment with the binaries. */
const PARTS: readonly (readonly [script: string, ...words: string[]])[] = [
  ['tools/check.ts', 'api'],
  ['node_modules/vitest/vitest.mjs', 'run', 'test/start/distribute.test.ts', '-t', 'on a Citus cluster'],
  ['verification/main.ts', '--only', ON_CITUS.join(), '--scale', 'small'],
];

const source = process.env.CITUS_SOURCE ?? '';
const config = join(DEBIAN_POSTGRES, 'pg_config');
if (source === '') {
  reportMissing(
    'Placements were not tried on Citus. To try them, set CITUS_SOURCE to the source of Citus 13.2, and install a compiler ' +
      'and the headers that it needs (on Debian 12: ' +
      'apt-get install build-essential postgresql-server-dev-15 libkrb5-dev libssl-dev).',
  );
} else if (!existsSync(config)) {
  reportMissing(`Citus cannot be built without ${config} (apt-get install postgresql-server-dev-15).`);
} else {
  const place = mkdtempSync(join(tmpdir(), 'transfer-service-citus-'));
  try {
    // If this runs as root, PostgreSQL's user must be able to enter the directory.
    chmodSync(place, 0o711);
    const binaries = build(place);
    const results = PARTS.map((words) => run(words, binaries));
    if (results.includes(false)) process.exitCode = 1;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** Builds Citus. Returns the directory of `initdb` and `postgres`, because PostgreSQL finds its other files relative to it. */
function build(place: string): string {
  const made = join(place, 'source');
  cpSync(source, made, { recursive: true, preserveTimestamps: true });
  const options = ['--without-libcurl', '--without-lz4', '--without-zstd'];
  const steps: readonly (readonly [string, ...string[]])[] = [
    [join(made, 'configure'), ...options, `PG_CONFIG=${config}`],
    ['make', `-j${availableParallelism()}`, 'with_llvm=no'],
    ['make', 'install', 'with_llvm=no', `DESTDIR=${place}`],
  ];
  for (const [command, ...words] of steps) {
    const { status, stdout, stderr } = spawnSync(command, words, { cwd: made, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${command} failed:\n${stdout}${stderr}`);
  }
  for (const option of ['--bindir', '--pkglibdir', '--sharedir']) {
    const from = spawnSync(config, [option], { encoding: 'utf8' }).stdout.trim();
    mkdirSync(dirname(place + from), { recursive: true });
    cpSync(from, place + from, { recursive: true, verbatimSymlinks: true });
  }
  return place + DEBIAN_POSTGRES;
}

function run(words: readonly string[], binaries: string): boolean {
  console.log(`${words.join(' ')}:`);
  const env = { ...process.env, TEST_CITUS_BIN: binaries };
  return spawnSync(process.execPath, words, { cwd: root, env, stdio: 'inherit' }).status === 0;
}
