import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';

export type Ending = {
  readonly succeeded: boolean;
  /** Whether the check found no problem but was not complete: see `INCOMPLETE`. */
  readonly isIncomplete: boolean;
  /** Standard output and standard error, in the order of arrival. */
  readonly output: string;
  readonly seconds: number;
};

/**
 * Exit code of a check that found no problem but lacked a system program for part of its work. Automake and Meson use the same
 * code for a skipped test.
 */
export const INCOMPLETE = 77;

export const root = join(import.meta.dirname, '..');

const running = new Set<ReturnType<typeof spawn>>();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    for (const child of running) child.kill('SIGTERM');
    process.exit(128 + constants.signals[signal]);
  });
}

/** The tools' output is a pipe, so these variables tell them whether our own output is a terminal. */
const colors = process.stdout.isTTY
  ? { FORCE_COLOR: '1', NO_COLOR: undefined }
  : { NO_COLOR: '1', FORCE_COLOR: undefined };

/** The TypeScript compiler is written in Go. Without garbage collection below this size, it takes a third less time. */
const MEMORY_OF_GO = { GOGC: 'off', GOMEMLIMIT: '1536MiB' } as const;

/** A hanging tool must not stop an unattended run from ending. */
const MAX_MILLISECONDS = 3_600_000;

/** Runs a script of node_modules or of this project with our Node, and returns its output. */
export function runScript(
  script: string,
  commandLine: readonly string[],
  onOutput?: (text: string) => void,
): Promise<Ending> {
  const started = performance.now();
  // Tools that start `node` by name must get the pinned Node, not the machine's.
  const path = [join(root, 'node_modules', '.bin'), process.env.PATH ?? ''].join(delimiter);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, script), ...commandLine], {
      cwd: root,
      env: { ...MEMORY_OF_GO, ...process.env, PATH: path, ...colors },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        onOutput?.(text);
      });
    }
    const timer = setTimeout(() => {
      output += `\nStopped: still running after ${MAX_MILLISECONDS / 1000} s.\n`;
      child.kill('SIGKILL');
    }, MAX_MILLISECONDS);
    const end = (code: number | null) => {
      if (!running.has(child)) return;
      clearTimeout(timer);
      running.delete(child);
      child.stdout.destroy();
      child.stderr.destroy();
      const seconds = (performance.now() - started) / 1000;
      resolve({ succeeded: code === 0, isIncomplete: code === INCOMPLETE, output, seconds });
    };
    child.on('error', (error) => {
      output += `${error.message}\n`;
      end(null);
    });
    child.on('close', end);
    // A process that a killed tool left behind may hold the pipes open forever.
    child.on('exit', (code) => setTimeout(() => end(code), 3_000).unref());
  });
}

/** Reports a check that cannot run on this machine, and what to install for it. `npm run verify` counts it as skipped. */
export function reportMissing(sentence: string): void {
  console.log(`${MISSING}${sentence}`);
  // Keeps the exit code of an earlier failure.
  process.exitCode ||= INCOMPLETE;
}

/** The folder of the oldest supported PostgreSQL on Debian and Ubuntu. */
export const DEBIAN_POSTGRES = '/usr/lib/postgresql/15/bin';

/** The beginning of a line of {@link reportMissing}. */
export const MISSING = 'skipped: ';

/** Reports how much a program did within its time budget. `npm run verify` prints it. */
export function reportCount(done: number, planned: number, what: string): void {
  console.log(`${COUNTED}${done} of ${planned} ${what}, in ${(performance.now() / 1000).toFixed(0)} s`);
}

/** The beginning of a line of {@link reportCount}. */
export const COUNTED = 'did: ';
