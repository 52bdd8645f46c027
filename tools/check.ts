// npm test: runs static checks, then the tests that prove every rule of the product once. `npm run verify` (here --verify) runs
// everything that takes longer, and `npm run check` (--quick) the quick part. With names, it runs only the named checks and
// suites, and the suites in full.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SUITES } from '../vitest.config.ts';
import { COUNTED, MISSING, root, runScript } from './command.ts';
import { close, count, findFilesWithoutSuite, note, type Part, runSuites, suitesOf } from './suites.ts';

const BIN = 'node_modules';

type Checks = Readonly<Record<string, readonly [script: string, ...rest: string[]]>>;

/** One checker process. Several would check shared files again, and slow down the other checks more than they save. */
const typeCheck = (name: string, project: string): readonly [script: string, ...rest: string[]] => [
  `${BIN}/typescript/bin/tsc`,
  '--noEmit',
  '--checkers',
  '1',
  '--incremental',
  '--tsBuildInfoFile',
  `${BIN}/.cache/${name}.tsbuildinfo`,
  '--project',
  project,
];

const LINT = [`${BIN}/@biomejs/biome/bin/biome`, 'check', '--error-on-warnings', '--diagnostic-level=warn'] as const;

const STEPS = {
  types: typeCheck('types', '.'),
  'console-tests': typeCheck('console-tests', 'test/console'),
  'console-types': typeCheck('console-types', 'console'),
  lint: LINT,
  imports: ['tools/imports.ts'],
  tidy: ['tools/tidy.ts'],
  generated: ['tools/generate.ts', '--check'],
  'supply-chain': ['tools/check-supply-chain.ts'],
  'openapi-lint': [
    `${BIN}/@redocly/cli/bin/cli.js`,
    'lint',
    'contract/openapi.json',
    'contract/processors/adapter-openapi.json',
  ],
} as const satisfies Checks;

/** The static checks of `npm run check`. */
const QUICK: Checks = {
  types: STEPS.types,
  'console-types': STEPS['console-types'],
  'console-tests': STEPS['console-tests'],
  tidy: STEPS.tidy,
  generated: STEPS.generated,
  // Replaces the steps that read all files.
  'product-imports': ['tools/imports.ts', '--product'],
  // Only the files that the next commit would change. `npm test` has linted all others.
  'changed-files': [...LINT, '--changed', '--since=HEAD', '--no-errors-on-unmatched'],
};

/** The suites of `npm run check`. */
const QUICK_SUITES = ['unit', 'simulation', 'smoke', 'contract'] as const;

/** For this many seconds, `npm run check` sends generated requests that conform to the OpenAPI document. */
const QUICKLY = { CONTRACT_SECONDS: '10' } as const;

/**
 * Programs that only `npm run verify` runs, two at a time. The one about money is first, then the longest. A program without a
 * fixed amount of work has a time budget and does less on a slow machine.
 */
const PROGRAMS: Checks = {
  'seeded-mistakes': ['verification/mutants/main.ts', '--selection'],
  'newest-release': ['test/upgrade/newest-release.ts'],
  'database-guides': ['tools/verify/database-guides.ts'],
  'generated-clients': ['tools/verify/generated-clients.ts'],
  monitoring: ['tools/verify/monitoring.ts'],
  pgbackrest: ['tools/verify/pgbackrest.ts'],
  proxies: ['tools/verify/proxies.ts'],
  deployment: ['tools/verify/deployment.ts'],
  citus: ['tools/verify/citus.ts'],
};

/** Programs of `npm run verify` that only compute. They run from the start at the lowest priority, while others wait. */
const COMPUTATIONS: Checks = {
  schedules: ['verification/environments/memory/main.ts', '--schedules', '100000', '--seconds', '1200'],
};

/** Programs that compare times. They run after all others. */
const MEASURES: Checks = {
  'stock-postgres': ['tools/verify/stock-postgres.ts'],
  // Five million transfers, as in docs/migrations.md, are for a manual run, because creating them takes longer than everything
  // else together.
  'lock-times': ['test/upgrade/lock-times.ts', '--transfers', '200000'],
};

/**
 * In `npm run verify`, a fault test tries every kind of request, and the search for card numbers plants more card numbers.
 * Generated requests use `CONTRACT_SEED`, or a seed of the day: 5,000 to each service, or 50,000 if the suite is named.
 */
function settingsOfVerify(words: readonly string[]): Readonly<Record<string, string>> {
  const isNamed = words.includes('contract');
  const contract = {
    CONTRACT_SEED: process.env.CONTRACT_SEED ?? new Date().toISOString().slice(0, 10).replaceAll('-', ''),
    CONTRACT_SECONDS: isNamed ? '1800' : '300',
    CONTRACT_REQUESTS: isNamed ? '50000' : '5000',
  };
  return { FAULTS: 'all', PLANTED: '10000', ...contract };
}

/** Suites that open the console, which must be built first. */
const NEED_CONSOLE: readonly string[] = ['pages', 'console'];

/** Suites whose slow files use the tarballs of the packages. */
const NEED_TARBALLS: readonly string[] = ['packages', 'guides'];

/**
 * `npm run verify` starts no further program after this many seconds, so that it also ends on a slow machine. The suites and the
 * checks of money come first. It names every program that it skips.
 */
const MAX_SECONDS_BEFORE_PROGRAM = 3300;

async function runProgram(name: string, program: readonly [string, ...string[]]): Promise<void> {
  const seconds = performance.now() / 1000;
  if (seconds < MAX_SECONDS_BEFORE_PROGRAM) await runStep(name, program);
  else note(`${name}: not started, because everything before it took ${seconds.toFixed(0)} s on this machine`);
}

async function runStep(name: string, [script, ...rest]: readonly [string, ...string[]]): Promise<void> {
  const { succeeded, isIncomplete, output, seconds } = await runScript(script, rest);
  const isRight = succeeded || isIncomplete;
  count(isRight ? 0 : 1, succeeded ? 1 : 0, `${name.padEnd(18)} ${seconds.toFixed(1)} s`);
  for (const line of output.split('\n')) {
    if (line.startsWith(MISSING)) note(`${name}: ${line.slice(MISSING.length)}`);
    if (line.startsWith(COUNTED)) console.log(`        ${line.slice(COUNTED.length)}`);
  }
  if (!isRight) console.log(`\n${output.trim()}\n`);
}

/**
 * Runs programs after the suites. On two cores, tests and programs that wait for time limits took longer together than one after
 * the other.
 */
async function runPrograms(programs: Checks): Promise<void> {
  const rest = Object.entries(programs).values();
  const work = async () => {
    for (const [name, program] of rest) await runProgram(name, program);
  };
  await Promise.all([work(), work()]);
}

/** Fetches the browser for the console's tests. Without it they count as one failure, and all other tests run. */
async function fetchBrowser(): Promise<boolean> {
  const { succeeded, output } = await runScript('tools/console/fetch-browser.mjs', []);
  if (!succeeded) count(1, 0, `console            no browser: ${output.trim()}`);
  return succeeded;
}

/** Fetches tools for some tests of the packages. Without them, these tests report what is missing. */
async function fetchTools(): Promise<void> {
  const { succeeded, output } = await runScript('tools/fetch-packages.mjs', ['tools']);
  if (!succeeded) count(1, 0, `packages           no earlier versions of Node: ${output.trim()}`);
}

/** Fetches the packages of the examples. Without them, the tests of the examples fail and say so. */
async function fetchExamplePackages(): Promise<void> {
  const { succeeded, output } = await runScript('tools/fetch-packages.mjs', ['example']);
  if (!succeeded) count(1, 0, `processors         no packages for the examples: ${output.trim()}`);
}

type Choice = {
  readonly steps: Checks;
  readonly suites: readonly string[];
  readonly part: Part;
  readonly programs: Checks;
  readonly measures: Checks;
};

function choose(isVerify: boolean, words: readonly string[]): Choice {
  const none = { steps: {}, programs: {}, measures: {} };
  if (words.join() === '--quick') return { ...none, steps: QUICK, suites: QUICK_SUITES, part: 'quick' };
  const slow = { ...none, suites: suitesOf('slow'), part: 'slow' } as const;
  if (words.length === 0 && isVerify) return { ...slow, steps: COMPUTATIONS, programs: PROGRAMS, measures: MEASURES };
  if (words.length === 0) return { ...none, steps: STEPS, suites: suitesOf('fast'), part: 'fast' };
  // The suites without the programs: the part that `npm test` leaves out.
  if (isVerify && words.join() === 'suites') return slow;
  const [programs, measures] = isVerify ? [PROGRAMS, MEASURES] : [{}, {}];
  const named = (checks: Checks) => Object.fromEntries(Object.entries(checks).filter(([name]) => words.includes(name)));
  const isNamed = (name: string) =>
    words.includes(name) || (SUITES[name] ?? []).some((folder) => words.includes(folder));
  const steps = { ...STEPS, ...QUICK, ...(isVerify ? COMPUTATIONS : {}) };
  const names = [...Object.keys(steps), ...Object.keys(SUITES), ...Object.keys(programs), ...Object.keys(measures)];
  for (const word of words.filter((one) => ![...names, ...Object.values(SUITES).flat()].includes(one)))
    count(1, 0, `There is no check named ${word}. The checks are: ${names.join(', ')}.`);
  return {
    steps: named(steps),
    suites: Object.keys(SUITES).filter(isNamed),
    part: 'whole',
    programs: named(programs),
    measures: named(measures),
  };
}

async function check({ steps, suites, part, programs, measures }: Choice): Promise<void> {
  // Hundreds of processes load the same modules. Compiled modules are kept below node_modules/ between runs.
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.compile-cache');
  if (suites.includes('packages')) await fetchTools();
  if (suites.includes('processors') && part !== 'fast') await fetchExamplePackages();
  const needsBrowser = suites.includes('console');
  const hasBrowser = needsBrowser ? await fetchBrowser() : existsSync(join(root, 'test', 'console', BIN));
  // `npm run check` does not fetch the browser's packages, and without them the tests in the browser have no types.
  const able = Object.entries(steps).filter(([name]) => hasBrowser || name !== 'console-tests');
  // Runs while the suites run, because many of them only wait for processes.
  const checking = Promise.all(able.map(([name, step]) => runStep(name, step)));
  findFilesWithoutSuite();
  const ableSuites = hasBrowser ? suites : suites.filter((name) => name !== 'console');
  if (ableSuites.some((name) => NEED_CONSOLE.includes(name)))
    await runStep('console-build', ['tools/console/build.ts']);
  // Built while the first suites run, so that the suites that need the tarballs do not all wait together.
  const needsTarballs = part !== 'fast' && ableSuites.some((name) => NEED_TARBALLS.includes(name));
  const packing = needsTarballs ? runStep('tarballs', ['test/packages/pack.ts']) : undefined;
  const testing = ableSuites.length > 0 ? runSuites(ableSuites, part) : undefined;
  await Promise.all([testing, packing]);
  await runPrograms(programs);
  await checking;
  for (const [name, program] of Object.entries(measures)) await runProgram(name, program);
  close();
}

const [first, ...rest] = process.argv.slice(2);
const isVerify = first === '--verify';
const ring = isVerify ? settingsOfVerify(rest) : first === '--quick' ? QUICKLY : {};
// Keeps settings of the caller, such as the seed of a failure.
for (const [name, value] of Object.entries(ring)) process.env[name] ??= value;
await check(choose(isVerify, isVerify ? rest : process.argv.slice(2)));
