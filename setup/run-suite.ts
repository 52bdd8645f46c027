import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { root, runScript } from './command.ts';
import type { Suite } from './suites.ts';

/** What became of a suite. */
export type SuiteResult = {
  readonly passed: number;
  readonly failed: number;
  /** Skipped and planned tests: neither passed nor failed, and never silent. */
  readonly leftOut: number;
  /** Tests that could not run on this machine, each with the reason that it gave. */
  readonly notRun: readonly string[];
  readonly seconds: number;
  /** What a reader needs to mend it; empty when nothing failed. */
  readonly complaint: string;
};

/** The part of vitest's JSON report that counts. */
type Report = {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly meta?: { readonly notRun?: string };
    }[];
  }[];
};

/** Files that failed as a whole, before or after their tests: vitest counts none of their tests as failed. */
function brokenFiles({ testResults }: Report): number {
  const isBroken = (file: Report['testResults'][number]) =>
    file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed');
  return testResults.filter(isBroken).length;
}

/** Tests that skipped themselves and said why. */
function notRunIn({ testResults }: Report): readonly string[] {
  return testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .flatMap(({ fullName, meta }) => (meta?.notRun === undefined ? [] : [`${fullName}: ${meta.notRun}`]));
}

function readReport(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

const nothingRan = ({ folder }: Suite) =>
  `No test of ${folder}/ ran: a suite that tests nothing would pass for ever. Write one, or take its line out of setup/suites.ts.`;

/** Runs one suite with vitest and counts its tests. A suite that breaks outside its tests counts as one failure. */
export async function runSuite(suite: Suite): Promise<SuiteResult> {
  const folder = mkdtempSync(join(tmpdir(), 'transfer-service-test-'));
  const reportPath = join(folder, 'report.json');
  const parallel = suite.filesInParallel ? [] : ['--no-file-parallelism'];
  try {
    const { succeeded, output, seconds } = await runScript('node_modules/vitest/vitest.mjs', [
      'run',
      '--config=vitest.config.ts',
      '--reporter=dot',
      '--reporter=json',
      `--outputFile.json=${reportPath}`,
      ...parallel,
      // The whole path: vitest would find a bare `domain/` in the name of any directory above the project, too.
      join(root, suite.folder) + sep,
    ]);
    const report = readReport(reportPath);
    const passed = report?.numPassedTests ?? 0;
    const failed = report === undefined ? 0 : report.numFailedTests + brokenFiles(report);
    const leftOut = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
    const notRun = report === undefined ? [] : notRunIn(report);
    if (succeeded && passed > 0) return { passed, failed, leftOut, notRun, seconds, complaint: '' };
    const complaint = report?.testResults.length === 0 ? nothingRan(suite) : output;
    const failures = Math.max(failed, 1);
    return { passed, failed: failures, leftOut, notRun, seconds, complaint: complaint.trim() || nothingRan(suite) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
