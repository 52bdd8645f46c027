import { spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { killTree } from '../torture/process-tree.ts';
import type { Witness } from './mutant.ts';

/** What a test file says of the source it ran against. */
export type Verdict =
  | { readonly is: 'passed'; readonly tests: number }
  /** `test` is the first that failed. */
  | { readonly is: 'failed'; readonly test: string }
  /** No test of it ran to its end: that says nothing about the source. */
  | { readonly is: 'broken'; readonly output: string };

/** The part of vitest's JSON report that counts. */
type Report = {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
};

/** A mutant may hang, in seconds: no witness takes a third of it, even beside another one. */
const AT_MOST = 300;

/** For one test, in milliseconds: a test that a mutant makes hang fails while its file still has time to report it. */
const TEST_TIMEOUT = 100_000;

/** Runs one test file against the source in `path`, until its first failure. */
export async function runWitness(path: string, { file, only }: Witness, signal: AbortSignal): Promise<Verdict> {
  const reportPath = join(path, 'report.json');
  await rm(reportPath, { force: true });
  const narrowed = only === undefined ? [] : ['-t', only];
  const vitest = [
    'run',
    '--root',
    path,
    '--bail=1',
    `--testTimeout=${TEST_TIMEOUT}`,
    '--reporter=json',
    `--outputFile=${reportPath}`,
    ...narrowed,
    file,
  ];
  const output = await runVitest(path, vitest, signal);
  const report = await readFile(reportPath, 'utf8').then(
    (text) => JSON.parse(text) as Report,
    () => undefined,
  );
  const results = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
  const failed = results.find(({ status }) => status === 'failed');
  if (failed !== undefined) return { is: 'failed', test: failed.fullName };
  const tests = results.filter(({ status }) => status === 'passed').length;
  return output.succeeded && tests > 0 ? { is: 'passed', tests } : { is: 'broken', output: output.text };
}

function runVitest(
  path: string,
  words: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly succeeded: boolean; readonly text: string }> {
  const program = join(path, 'node_modules/vitest/vitest.mjs');
  return new Promise((done) => {
    const child = spawn(process.execPath, [program, ...words], {
      cwd: path,
      env: { ...process.env, NO_COLOR: '1' },
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
      text += `\nno end after ${AT_MOST} s\n`;
      kill();
    }, AT_MOST * 1000);
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
