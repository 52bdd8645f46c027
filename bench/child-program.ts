import { spawn } from 'node:child_process';
import { processorTimeMilliseconds } from './processor-time.ts';
import type { Resources } from './resources.ts';

export type Ending = {
  readonly output: string;
  /** CPU time, read at most a tenth of a second before the end. */
  readonly processorTimeMilliseconds: number;
  readonly elapsedMilliseconds: number;
};

/** The interval between reads of the CPU time, which is lost when the process ends. */
const CHECK_INTERVAL_MILLISECONDS = 50;

/** Runs a program to its end and returns its output. If it fails, rejects with its last lines. */
export async function runProgram(
  resources: Resources,
  command: string,
  words: readonly string[],
  more: {
    readonly input?: string;
    readonly environment?: Readonly<Record<string, string>>;
    readonly cwd?: string;
  } = {},
): Promise<Ending> {
  const begun = performance.now();
  const child = spawn(command, words, {
    env: { ...process.env, ...more.environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(more.cwd === undefined ? {} : { cwd: more.cwd }),
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const forget = resources.add(command, async () => {
    child.kill('SIGTERM');
    await ended;
  });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  child.stdin.end(more.input ?? '');
  let spentMilliseconds = Number.NaN;
  const timer = setInterval(() => {
    const nowMilliseconds = child.pid === undefined ? Number.NaN : processorTimeMilliseconds(child.pid);
    if (!Number.isNaN(nowMilliseconds)) spentMilliseconds = nowMilliseconds;
  }, CHECK_INTERVAL_MILLISECONDS);
  try {
    const code = await ended;
    if (code === 0)
      return { output, processorTimeMilliseconds: spentMilliseconds, elapsedMilliseconds: performance.now() - begun };
    throw new Error(`${command} ended with ${code}: ${errors.trim().split('\n').slice(-5).join(' | ')}`);
  } finally {
    clearInterval(timer);
    await forget();
  }
}
