// The suites of vitest.config.ts: the files of a run, and their results.
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { DEEPER, PROOFS, SLOW, SUITES } from '../vitest.config.ts';
import { root, runScript } from './command.ts';

/** The files of a suite in a run: those for `npm run check`, for `npm test`, for `npm run verify`, or all. */
export type Part = 'quick' | 'fast' | 'slow' | 'whole';

const lies = (path: string, places: readonly string[]) =>
  places.some((place) => path === place || path.startsWith(`${place}/`));

function findFiles(): readonly { readonly path: string; readonly suite: string | undefined }[] {
  const exclude = ['**/node_modules/**', 'data/**'];
  return globSync('**/*.test.{ts,tsx,mts,js,mjs}', { cwd: root, exclude }).map((path) => {
    const suite = Object.keys(SUITES).find((name) => lies(path, SUITES[name] ?? []));
    return { path, suite: path.endsWith('.test.ts') ? suite : undefined };
  });
}

/** Fails for a test file that belongs to no suite, and for an entry of SLOW, DEEPER or PROOFS without a file. */
export function findFilesWithoutSuite(): void {
  const files = findFiles();
  for (const { path, suite } of files)
    if (suite === undefined) count(1, 0, `${path} belongs to no suite of vitest.config.ts.`);
  for (const place of [...SLOW, ...DEEPER, ...PROOFS])
    if (!files.some(({ path }) => lies(path, [place]))) count(1, 0, `${place} in vitest.config.ts has no test.`);
}

export function suitesOf(part: Part): readonly string[] {
  return Object.keys(SUITES).filter((name) => filesOf([name], part).length > 0);
}

function filesOf(suites: readonly string[], part: Part): readonly string[] {
  const isTaken = (path: string) => {
    if (part === 'whole') return true;
    if (lies(path, SLOW)) return part === 'slow';
    if (part === 'slow') return lies(path, DEEPER);
    return part === 'fast' || !lies(path, PROOFS);
  };
  return findFiles().flatMap(({ path, suite }) =>
    suite !== undefined && suites.includes(suite) && isTaken(path) ? [path] : [],
  );
}

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

export async function runSuites(suites: readonly string[], part: Part): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'transfer-service-test-'));
  const file = join(folder, 'report.json');
  try {
    const { succeeded } = await runScript(
      'node_modules/vitest/vitest.mjs',
      [
        'run',
        '--reporter=default',
        '--silent=passed-only',
        '--reporter=json',
        `--outputFile.json=${file}`,
        ...filesOf(suites, part).map((path) => join(root, path)),
      ],
      (text) => process.stdout.write(text),
    );
    const { testResults }: Report = JSON.parse(readFileSync(file, 'utf8'));
    const before = total.failed;
    for (const suite of suites) countSuite(suite, testResults);
    // This happens after an error outside all tests.
    if (!succeeded && total.failed === before) count(1, 0, 'vitest failed: its output above says why.');
  } catch (error) {
    count(1, 0, `vitest left no report: ${error}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function countSuite(name: string, files: Report['testResults']): void {
  const own = files.filter((file) => lies(relative(root, file.name), SUITES[name] ?? []));
  const tests = own.flatMap(({ assertionResults }) => assertionResults);
  const withStatus = (status: string) => tests.filter((one) => one.status === status).length;
  // A file that fails before or after its tests may have no failed test.
  const broken = own.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.every((one) => one.status !== 'failed'),
  );
  const [passed, failed] = [withStatus('passed'), withStatus('failed') + broken.length];
  const skipped = tests.filter(({ status }) => status !== 'passed' && status !== 'failed');
  const counts = [`${passed} passed`, `${failed} failed`, ...(skipped.length > 0 ? [`${skipped.length} skipped`] : [])];
  const isEmpty = passed + failed === 0;
  count(isEmpty ? 1 : failed, passed, `${name.padEnd(18)} ${isEmpty ? 'no test ran' : counts.join(', ')}`);
  for (const { fullName, meta } of skipped) note(`${fullName}: ${meta?.notRun ?? 'no reason'}`);
}

const total = { passed: 0, failed: 0, skipped: 0 };

export function count(failed: number, passed: number, line: string): void {
  total.failed += failed;
  total.passed += passed;
  console.log(`${failed > 0 ? 'FAILED' : 'ok    '}  ${line}`);
}

/** Counts a check that this machine cannot run, with its name and the reason. */
export function note(skipped: string): void {
  total.skipped += 1;
  console.log(`        skipped: ${skipped}`);
}

/** Prints the last lines of a run. Sets the exit code if something failed. */
export function close(): void {
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped, see above` : '';
  console.log(
    `\ntook ${(performance.now() / 1000).toFixed(1)} s${skipped}\n${total.passed} passed, ${total.failed} failed`,
  );
  if (total.failed > 0) process.exitCode = 1;
}
