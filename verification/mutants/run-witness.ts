import { spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TEMPLATES } from '../../test/harness/ledger-templates.ts';
import { killTree } from '../nemeses/kill.ts';

/** Test files of one run. `only` selects the tests whose names match it. */
export type Portion = { readonly files: readonly string[]; readonly only?: string | undefined };

/** Where the tests run. */
export type Place = {
  /** The copy of the source. */
  readonly path: string;
  /**
   * Whether the tests create their own ledgers, because the tables of this copy differ from the tables of other copies.
   */
  readonly makesLedgers: boolean;
};

/** The result of running test files against a copy of the source. */
export type Verdict =
  | { readonly is: 'passed'; readonly tests: number }
  /** `test` is the first failed test. */
  | { readonly is: 'failed'; readonly test: string }
  /** In one of the files, no test completed. That shows nothing about the source. */
  | { readonly is: 'broken'; readonly output: string };

/** The part of vitest's JSON report that is used here. */
type Report = {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
};

/** The time limit per file in seconds, because a mutant may hang. No witness takes a third of it, even while another one runs. */
const AT_MOST = 300;

/** The time limit per test in milliseconds: a test that hangs must fail while its file still has time to report it. */
const TEST_TIMEOUT = 100_000;

/** Runs test files against a copy of the source, until the first failure. */
export async function runTests(place: Place, { files, only }: Portion, signal: AbortSignal): Promise<Verdict> {
  const { path } = place;
  const reportPath = join(path, 'report.json');
  await rm(reportPath, { force: true });
  const narrowed = only === undefined ? [] : ['-t', only];
  const vitest = [
    'run',
    '--root',
    path,
    '--bail=1',
    // One worker per copy: on a busy machine, tests that hold something back run into their time limits.
    '--maxWorkers=1',
    `--testTimeout=${TEST_TIMEOUT}`,
    '--reporter=json',
    `--outputFile=${reportPath}`,
    ...narrowed,
    ...files,
  ];
  const output = await runVitest(place, vitest, { signal, seconds: AT_MOST * files.length });
  const report = await readFile(reportPath, 'utf8').then(
    (text) => JSON.parse(text) as Report,
    () => undefined,
  );
  const results = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
  const failed = results.find(({ status }) => status === 'failed');
  if (failed !== undefined) return { is: 'failed', test: failed.fullName };
  const passed = files.map((file) => {
    const own = report?.testResults.find(({ name }) => name === join(path, file));
    return own?.assertionResults.filter(({ status }) => status === 'passed').length ?? 0;
  });
  if (!output.succeeded || passed.includes(0)) return { is: 'broken', output: output.text };
  return { is: 'passed', tests: passed.reduce((sum, tests) => sum + tests, 0) };
}

function runVitest(
  { path, makesLedgers }: Place,
  words: readonly string[],
  { signal, seconds }: { readonly signal: AbortSignal; readonly seconds: number },
): Promise<{ readonly succeeded: boolean; readonly text: string }> {
  const program = join(path, 'node_modules/vitest/vitest.mjs');
  return new Promise((done) => {
    const child = spawn(process.execPath, [program, ...words], {
      cwd: path,
      env: { ...process.env, NO_COLOR: '1', ...(makesLedgers ? { [TEMPLATES]: undefined } : {}) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
    }
    const kill = (): void => void (child.pid !== undefined && killTree(child.pid));
    const timer = setTimeout(() => {
      text += `\nnot finished after ${seconds} s\n`;
      kill();
    }, seconds * 1000);
    signal.addEventListener('abort', kill, { once: true });
    child.once('error', (error) => {
      text += error.message;
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', kill);
      done({ succeeded: code === 0, text });
    });
  });
}
