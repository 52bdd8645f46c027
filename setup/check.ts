// npm test [-- names]: checks what the files say, then runs the tests. `npm run check` is the part of it that is quick.
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { SUITES } from '../vitest.config.ts';
import { root, runScript } from './command.ts';

const BIN = 'node_modules';

/** Checks of what the files say: a script and its arguments. */
const STEPS: Readonly<Record<string, readonly [script: string, ...rest: string[]]>> = {
  types: [
    `${BIN}/typescript/bin/tsc`,
    '--noEmit',
    '--incremental',
    '--tsBuildInfoFile',
    `${BIN}/.cache/types.tsbuildinfo`,
  ],
  'console-tests': [
    `${BIN}/typescript/bin/tsc`,
    '--noEmit',
    '--incremental',
    '--tsBuildInfoFile',
    `${BIN}/.cache/console-tests.tsbuildinfo`,
    '--project',
    'test/console',
  ],
  'console-types': [
    `${BIN}/typescript/bin/tsc`,
    '--project',
    'console',
    '--incremental',
    '--tsBuildInfoFile',
    `${BIN}/.cache/console-types.tsbuildinfo`,
  ],
  lint: [`${BIN}/@biomejs/biome/bin/biome`, 'check', '--error-on-warnings', '--diagnostic-level=warn'],
  imports: ['setup/imports.ts'],
  tidy: ['setup/tidy.ts'],
  generated: ['setup/generate.ts', '--check'],
  'supply-chain': ['setup/check-supply-chain.ts'],
  contract: [`${BIN}/@redocly/cli/bin/cli.js`, 'lint', 'contract/openapi.json'],
};

/** Suites that open the console, so that it must have been built. */
const NEED_CONSOLE: readonly string[] = ['pages', 'console'];

/** Suites that use the tarballs of the packages. */
const NEED_TARBALLS: readonly string[] = ['packages', 'guides'];

/** The part of vitest's report that is read here. */
type Report = {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly meta?: { readonly notRun?: string };
    }[];
  }[];
};

const total = { passed: 0, failed: 0 };

function count(failed: number, passed: number, line: string): void {
  total.failed += failed;
  total.passed += passed;
  console.log(`${failed > 0 ? 'FAILED' : 'ok    '}  ${line}`);
}

async function runStep(name: string, [script, ...rest]: readonly [string, ...string[]]): Promise<void> {
  const { succeeded, output, seconds } = await runScript(script, rest);
  count(succeeded ? 0 : 1, succeeded ? 1 : 0, `${name.padEnd(14)} ${seconds.toFixed(1)} s`);
  if (!succeeded) console.log(`\n${output.trim()}\n`);
}

const isIn = (folders: readonly string[], path: string) => folders.some((folder) => path.startsWith(`${folder}/`));

/** Fails for a test file that no suite would run. */
function findHomeless(): void {
  const exclude = ['**/node_modules/**', 'data/**'];
  for (const path of globSync('**/*.test.{ts,tsx,mts,js,mjs}', { cwd: root, exclude })) {
    const isKnown = path.endsWith('.test.ts') && isIn(Object.values(SUITES).flat(), path);
    if (!isKnown) count(1, 0, `${path} belongs to no suite of vitest.config.ts.`);
  }
}

async function runSuites(names: readonly string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'transfer-service-test-'));
  const file = join(folder, 'report.json');
  try {
    const { succeeded } = await runScript(
      `${BIN}/vitest/vitest.mjs`,
      [
        'run',
        '--reporter=default',
        '--silent=passed-only',
        '--reporter=json',
        `--outputFile.json=${file}`,
        ...names.map((name) => `--project=${name}`),
      ],
      (text) => process.stdout.write(text),
    );
    const { testResults }: Report = JSON.parse(readFileSync(file, 'utf8'));
    const before = total.failed;
    for (const name of names) countSuite(name, testResults);
    // As after an error outside every test.
    if (!succeeded && total.failed === before) count(1, 0, 'vitest failed: its output above says why.');
  } catch (error) {
    count(1, 0, `vitest left no report: ${error}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function countSuite(name: string, files: Report['testResults']): void {
  const own = files.filter((file) => isIn(SUITES[name] ?? [], relative(root, file.name)));
  const tests = own.flatMap(({ assertionResults }) => assertionResults);
  const withStatus = (status: string) => tests.filter((one) => one.status === status).length;
  // A file that fails before or after its tests has no failed test.
  const broken = own.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.every((one) => one.status !== 'failed'),
  );
  const [passed, failed] = [withStatus('passed'), withStatus('failed') + broken.length];
  const skipped = tests.filter(({ status }) => status !== 'passed' && status !== 'failed');
  const counts = [`${passed} passed`, `${failed} failed`, ...(skipped.length > 0 ? [`${skipped.length} skipped`] : [])];
  const isEmpty = passed + failed === 0;
  count(isEmpty ? 1 : failed, passed, `${name.padEnd(14)} ${isEmpty ? 'no test ran' : counts.join(', ')}`);
  for (const { fullName, meta } of skipped) console.log(`        skipped: ${fullName}: ${meta?.notRun ?? 'no reason'}`);
}

/** The tests of the console need it; without it they count as one failure, and all others run. */
async function fetchBrowser(): Promise<boolean> {
  const { succeeded, output } = await runScript('setup/console/fetch-browser.mjs', []);
  if (!succeeded) count(1, 0, `console        no browser: ${output.trim()}`);
  return succeeded;
}

/** Only some of the tests of the packages need them, and say so where they are missing. */
async function fetchTools(): Promise<void> {
  const { succeeded, output } = await runScript('setup/packages/fetch-tools.mjs', []);
  if (!succeeded) count(1, 0, `packages       no earlier versions of Node: ${output.trim()}`);
}

async function check(words: readonly string[]): Promise<void> {
  const isWanted = (name: string, folders: readonly string[] = []) =>
    words.length === 0 || words.includes(name) || words.some((word) => folders.includes(word));
  const steps = Object.entries(STEPS).filter(([name]) => isWanted(name));
  const suites = Object.keys(SUITES).filter((name) => isWanted(name, SUITES[name]));
  const known = [...Object.keys(STEPS), ...Object.keys(SUITES), ...Object.values(SUITES).flat()];
  for (const word of words.filter((one) => !known.includes(one))) {
    count(
      1,
      0,
      `There is no check named ${word}; there are: ${[...Object.keys(STEPS), ...Object.keys(SUITES)].join(', ')}.`,
    );
  }
  // Hundreds of processes load the same modules; compiled ones are kept below node_modules/ from run to run.
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.compile-cache');
  if (suites.includes('packages')) await fetchTools();
  const needsBrowser = suites.includes('console');
  const hasBrowser = needsBrowser ? await fetchBrowser() : existsSync(join(root, 'test', 'console', BIN));
  // `npm run check` fetches no browser, and without its packages the tests in it have no types.
  const able = hasBrowser ? steps : steps.filter(([name]) => name !== 'console-tests');
  await Promise.all(able.map(([name, step]) => runStep(name, step)));
  findHomeless();
  const ableSuites = hasBrowser ? suites : suites.filter((name) => name !== 'console');
  if (ableSuites.some((name) => NEED_CONSOLE.includes(name)))
    await runStep('console-build', ['setup/console/build.ts']);
  // Beside the first suites, so that those that need the tarballs do not all wait for them at once.
  const needsTarballs = ableSuites.some((name) => NEED_TARBALLS.includes(name));
  const packing = needsTarballs ? runStep('tarballs', ['test/packages/pack.ts']) : undefined;
  if (ableSuites.length > 0) await runSuites(ableSuites);
  await packing;
  console.log(`\ntook ${(performance.now() / 1000).toFixed(1)} s\n${total.passed} passed, ${total.failed} failed`);
  if (total.failed > 0) process.exitCode = 1;
}

await check(process.argv.slice(2));
