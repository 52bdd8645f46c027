import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { parseJson } from '../../../domain/parse-json.ts';
import { programAt } from '../../../installation.mjs';

/** The addresses of the simulator, and the secret that signs requests to it and its notices. */
export type RunningSimulator = {
  /** The base URL of the adapter contract. */
  readonly url: string;
  /** A URL that refuses all connections while the simulator runs. Orders that must be refused are sent there. */
  readonly refusedUrl: string;
  readonly secret: string;
  readonly processId: number;
};

export type SimulatorParts = {
  /** The directory of the simulator's book. It is created if it is missing. */
  readonly directory: string;
  /** The `http://` URL for the simulator's notices. Null if it should send none. */
  readonly noticeUrl: string | null;
  /** The secret to use, `whsec_…`. If omitted, each process gets a new one. */
  readonly secret?: string;
};

export type SimulatorProcess = {
  /**
   * Starts the simulator unless it is running, and restarts it after a crash. Rejects with a message for people if it does not
   * start.
   */
  readonly running: () => Promise<RunningSimulator>;
  /** Ends the simulator if it is running, and waits until it has ended. Afterwards it does not start again. */
  readonly stop: () => Promise<void>;
};

/** At startup, the simulator waits until the previous one has ended, which takes a moment, and then reads its book. */
const MAX_START_MILLISECONDS = 60_000;
/** The simulator only has to close its book. */
const MAX_STOP_MILLISECONDS = 3_000;

/** Prepares the simulator, the sandbox's processor. It runs in a separate process, which starts on first use. */
export function prepareSimulator(parts: SimulatorParts): SimulatorProcess {
  let starting: Promise<{ readonly child: ChildProcess; readonly simulator: RunningSimulator }> | undefined;
  let isStopped = false;
  return {
    running: async () => {
      if (isStopped) throw new Error('The simulator has been stopped.');
      if (starting === undefined) {
        const started = start(parts);
        starting = started;
        const forget = (): void => {
          if (starting === started) starting = undefined;
        };
        started.then(({ child }) => child.once('exit', forget), forget);
      }
      return (await starting).simulator;
    },
    stop: async () => {
      isStopped = true;
      const started = await starting?.catch(() => undefined);
      if (started !== undefined) await end(started.child);
    },
  };
}

/**
 * Lets the simulator write a settlement file with these differences, and returns the simulator's exit code. The simulator
 * prints the path, or the problem.
 */
export function writeSettlementFile(directory: string, differences: readonly string[]): number {
  const command = [programAt('simulator/main'), 'settlement', directory, ...differences];
  return spawnSync(process.execPath, command, { stdio: ['ignore', 'inherit', 'inherit'], env: {} }).status ?? 1;
}

async function start({ directory, noticeUrl, secret }: SimulatorParts) {
  const child = spawn(process.execPath, [programAt('simulator/main')], {
    // However this process ends, the simulator sees the end of its input.
    stdio: ['pipe', 'pipe', 'pipe'],
    // The simulator reads its settings from its input. The environment stays empty, so it does not get this process's secrets.
    env: {},
  });
  let problem = '';
  child.stderr.on('data', (chunk: Buffer) => {
    problem = `${problem}${chunk}`.slice(-2_000);
  });
  // Writing to a process that could not be started causes an error. The code below reports the failed start.
  child.stdin.on('error', () => undefined);
  child.stdin.write(
    `${JSON.stringify({ directory, notice_url: noticeUrl, ...(secret !== undefined && { secret }) })}\n`,
  );
  const line = await firstLineOf(child);
  if (line === undefined || child.pid === undefined) {
    child.kill('SIGKILL');
    throw new Error(`The simulator could not be started. ${problem.trim()}`.trim());
  }
  const addresses = parseJson(line) as { port: number; refused_port: number; secret: string };
  const simulator: RunningSimulator = {
    url: `http://127.0.0.1:${addresses.port}`,
    refusedUrl: `http://127.0.0.1:${addresses.refused_port}`,
    secret: addresses.secret,
    processId: child.pid,
  };
  return { child, simulator };
}

/** Returns the line with the simulator's addresses. Undefined if it ends before printing it, or does not start in time. */
function firstLineOf(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), MAX_START_MILLISECONDS);
    const settle = (line: string | undefined): void => {
      clearTimeout(timer);
      resolve(line);
    };
    if (child.stdout !== null) createInterface({ input: child.stdout }).once('line', settle);
    child.once('error', () => settle(undefined));
    child.once('close', () => settle(undefined));
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), MAX_STOP_MILLISECONDS);
  child.stdin?.end();
  await exited;
  clearTimeout(timer);
}
