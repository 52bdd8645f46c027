import { existsSync, globSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import makeTemplates from '../test/harness/ledger-templates.ts';
import { type Ending, root, runScript } from './command.ts';
import { runSuite } from './run-suite.ts';
import { budgetSecondsOfAll, type Suite, suites, supportFolders } from './suites.ts';

/** A check of what the files say, before any of them runs. The steps run beside each other. */
type Step = {
  readonly name: string;
  /** From experience on two cores, generously; beyond it a warning is printed. */
  readonly budgetSeconds: number;
  readonly run: () => Promise<Ending>;
};

const steps: readonly Step[] = [
  {
    name: 'types',
    budgetSeconds: 30,
    run: () => runScript('node_modules/typescript/bin/tsc', ['--noEmit', '--project', '.']),
  },
  {
    name: 'lint',
    budgetSeconds: 30,
    run: () =>
      runScript('node_modules/@biomejs/biome/bin/biome', ['check', '--error-on-warnings', '--diagnostic-level=warn']),
  },
  { name: 'imports', budgetSeconds: 15, run: () => runScript('setup/imports.ts', []) },
  { name: 'tidy', budgetSeconds: 10, run: () => runScript('setup/tidy.ts', []) },
  { name: 'generated', budgetSeconds: 10, run: () => runScript('setup/generate.ts', ['--check']) },
  { name: 'supply-chain', budgetSeconds: 10, run: () => runScript('setup/check-supply-chain.ts', []) },
  {
    name: 'contract',
    budgetSeconds: 15,
    run: () => runScript('node_modules/@redocly/cli/bin/cli.js', ['lint', 'contract/openapi.json']),
  },
];

const total = { passed: 0, failed: 0, leftOut: 0 };

function tell(name: string, failed: boolean, remark: string, seconds: number): void {
  console.log(`${failed ? 'FAILED' : 'ok    '}  ${name.padEnd(14)} ${remark.padEnd(28)} ${seconds.toFixed(1)} s`);
}

/** Other work on the machine makes everything slower now and then: over budget is a remark, never a failure. */
function warnIfSlow(name: string, seconds: number, budget: number): void {
  if (seconds > budget) console.log(`        warning: ${name} took ${seconds.toFixed(1)} s, its budget is ${budget} s`);
}

async function runSteps(chosen: readonly Step[]): Promise<void> {
  await Promise.all(
    chosen.map(async ({ name, budgetSeconds, run }) => {
      const { succeeded, output, seconds } = await run();
      tell(name, !succeeded, '', seconds);
      warnIfSlow(name, seconds, budgetSeconds);
      if (!succeeded) console.log(`\n${output.trim()}\n`);
      total[succeeded ? 'passed' : 'failed'] += 1;
    }),
  );
}

/**
 * Runs suites one after the other, taking them from those that are left: of the kind that is wanted as long as there are
 * any, so that two such lanes end at about the same time.
 */
async function runLane(left: Suite[], wantsWaiting: boolean): Promise<void> {
  const isWanted = ({ waits }: Suite): boolean => (waits === true) === wantsWaiting;
  while (left.length > 0) {
    const [suite] = left.splice(Math.max(0, left.findIndex(isWanted)), 1);
    if (suite === undefined) return;
    const { passed, failed, leftOut, notRun, seconds, complaint } = await runSuite(suite);
    const counts = [`${passed} passed`];
    if (failed > 0) counts.push(`${failed} failed`);
    if (leftOut > 0) counts.push(`${leftOut} skipped`);
    tell(suite.name, failed > 0, counts.join(', '), seconds);
    warnIfSlow(suite.name, seconds, suite.budgetSeconds);
    for (const line of notRun) console.log(`        not run: ${line}`);
    if (complaint !== '') console.log(`\n${complaint.trim()}\n`);
    total.passed += passed;
    total.failed += failed;
    total.leftOut += leftOut;
  }
}

const isBelow = (folder: string, path: string) => path.startsWith(`${folder}/`);

/** Folders and files of tests that no line of the table of suites covers, so that nobody would miss them. */
function unnamedTests(): string[] {
  const entries = existsSync(join(root, 'test')) ? readdirSync(join(root, 'test'), { withFileTypes: true }) : [];
  const folders = entries
    .filter((entry) => entry.isDirectory() && !supportFolders.includes(entry.name))
    .map((entry) => `test/${entry.name}`)
    .filter((path) => !suites.some(({ folder }) => folder === path || isBelow(path, folder)));
  const files = globSync('**/*.test.{ts,tsx,mts,js,mjs}', {
    cwd: root,
    exclude: (path) => /(?:^|[\\/])(?:node_modules|data)$/.test(path),
  })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !suites.some(({ folder }) => isBelow(folder, path)));
  return [...new Set([...folders, ...files.filter((path) => !folders.some((folder) => isBelow(folder, path)))])];
}

function checkTable(): void {
  const unnamed = unnamedTests();
  for (const path of unnamed) console.log(`FAILED  ${path} belongs to no suite; give it a line in setup/suites.ts.`);
  total.failed += unnamed.length;
}

function choose<Named extends { readonly name: string }>(all: readonly Named[], wanted: readonly string[]) {
  return wanted.length === 0 ? all : all.filter(({ name }) => wanted.some((part) => name.includes(part)));
}

/** What the suites of one run share. None of it is a result of a test, and each suite does without, only slower. */
function share(): void {
  // Hundreds of processes load the same modules; compiled ones are kept below node_modules/ from run to run.
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.compile-cache');
  const remove = makeTemplates();
  if (remove !== undefined) process.once('exit', remove);
}

async function checkAll(wanted: readonly string[]): Promise<void> {
  const started = performance.now();
  const chosenSteps = choose(steps, wanted);
  const chosenSuites = choose(suites, wanted);
  if (chosenSteps.length + chosenSuites.length === 0) {
    const known = [...steps, ...suites].map(({ name }) => name).join(', ');
    console.error(`No suite is called like ${wanted.join(' or ')}; there are: ${known}.`);
    process.exitCode = 2;
    return;
  }
  share();
  await runSteps(chosenSteps);
  if (wanted.length === 0) checkTable();
  // No suite depends on speed, so two may share the two cores: one that works beside one that waits. On one core both
  // would only wait for each other, and for PostgreSQL and the services of both.
  const left = [...chosenSuites];
  const lanes = availableParallelism() === 1 ? [false] : [false, true];
  await Promise.all(lanes.map((wantsWaiting) => runLane(left, wantsWaiting)));
  const seconds = (performance.now() - started) / 1000;
  if (total.leftOut > 0) console.log(`\n${total.leftOut} tests were skipped`);
  console.log(`\ntook ${seconds.toFixed(1)} s`);
  warnIfSlow('everything', seconds, budgetSecondsOfAll);
  console.log(`${total.passed} passed, ${total.failed} failed`);
  if (total.failed > 0) process.exitCode = 1;
}

await checkAll(process.argv.slice(2));
