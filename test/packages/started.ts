import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { folderWith, packedService, userEnvironment } from './packed.ts';

/** The time limit of a start, in milliseconds. It is longer than a start takes on one slow core. */
const START_MILLISECONDS = 180_000;

/** A process that a test started, and that stops after the test. */
export type Started = {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** The exit code, or the name of the signal that ended the process. */
  readonly ended: Promise<number | string | null>;
};

/** A service that is ready. */
export type StartedService = Started & {
  readonly url: string;
  readonly processId: number;
  /** Sends a request, by default a POST if it has a body. */
  readonly call: (path: string, body?: object, headers?: Readonly<Record<string, string>>) => Promise<Response>;
};

/** How to start a process: its user, its group, and what `env` adds to a user's environment. */
export type HowToStart = {
  readonly env?: Readonly<Record<string, string>>;
  readonly uid?: number;
  readonly gid?: number;
  readonly stdin?: 'ignore' | 'pipe';
};

/** Creates a folder in which the service is installed. The folder is removed after the test. */
export async function newFolder(): Promise<string> {
  const { path, remove } = await folderWith(await packedService());
  onTestFinished(remove);
  return path;
}

/** Returns the executable that npm puts on the path of its scripts. */
export const programIn = (folder: string): string => join(folder, 'node_modules', '.bin', 'transfer-service');

export function startProgram(
  [command = '', ...rest]: readonly string[],
  cwd: string,
  { env, stdin = 'ignore', ...user }: HowToStart = {},
): Started {
  const options = { cwd, env: userEnvironment(env), ...user };
  const child = spawn(command, rest, { ...options, stdio: [stdin, 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const ended = new Promise<number | string | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return { child, output: () => output, ended };
}

/** Starts the service in a folder, with npx or another command line. Waits until the service is ready. */
export async function startService(
  cwd: string,
  {
    command = ['npx', 'transfer-service', 'start'],
    ...how
  }: HowToStart & { readonly command?: readonly string[] } = {},
): Promise<StartedService> {
  const started = startProgram(command, cwd, { ...how, env: { PORT: '0', ...how.env } });
  const read = (pattern: RegExp) => pattern.exec(started.output())?.[1];
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not ready in time:\n${started.output()}`)), START_MILLISECONDS);
    const look = (): void => {
      const found = read(/Ready at (\S+)/);
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found.replace('localhost', '127.0.0.1'));
    };
    started.child.stdout?.on('data', look);
    void started.ended.then((ending) => reject(new Error(`ended with ${ending}:\n${started.output()}`)), reject);
  });
  const call: StartedService['call'] = (path, body, headers = {}) =>
    fetch(`${url}${path}`, {
      headers: { ...(body && { 'Content-Type': 'application/json' }), ...headers },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
  return { ...started, url, processId: Number(read(/mode, process ([0-9]+)/)), call };
}

export async function runProgram(
  commandLine: readonly string[],
  cwd: string,
  how: HowToStart = {},
): Promise<{ readonly exitCode: number | string | null; readonly output: string }> {
  const { ended, output } = startProgram(commandLine, cwd, how);
  return { exitCode: await ended, output: output() };
}
