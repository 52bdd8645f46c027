import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { COMPILED } from '../harness/process.ts';

export function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

/** A process in a terminal with 80 columns, which util-linux's `script` runs. */
export type Terminal = {
  readonly type: (text: string) => void;
  readonly shown: () => string;
  readonly ended: Promise<number | null>;
  readonly close: () => void;
};

/** Runs a shell command line in a new terminal. */
export function openTerminal(command: string, environment: Readonly<Record<string, string>> = {}): Terminal {
  const child: ChildProcess = spawn('script', ['-qfec', `stty cols 80 rows 24; ${command}`, '/dev/null'], {
    env: {
      ...COMPILED,
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '/',
      TERM: 'xterm-256color',
      ...environment,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
    // Runs in a separate process group, so that `close` also ends every process that it started.
    detached: true,
  });
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    type: (text) => void child.stdin?.write(text),
    shown: () => output,
    ended,
    close: () => {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    },
  };
}
