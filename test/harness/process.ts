import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TransferService } from '../../sdk/client.ts';

const MAIN = new URL('../../server/main.ts', import.meta.url).pathname;

/** How long a start may take before a test gives up, in milliseconds: crash recovery on a busy machine included. */
const START_TIME = 60_000;

/** A service in a process of its own, as an operator runs it. */
export type ServiceProcess = {
  readonly url: string;
  readonly child: ChildProcess;
  /** Everything it has printed so far. */
  readonly output: () => string;
  /** A client that never retries, so that a test sees each answer. */
  readonly client: TransferService;
  /** Ends it as an operator does; gives the exit code. */
  readonly stop: () => Promise<number | null>;
  /** SIGKILL, and waits until it is gone. */
  readonly kill: () => Promise<void>;
};

/** An empty directory for a ledger, removed by `remove` when the test is over. */
export async function temporaryDirectory(): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> {
  // Short and below /tmp: PostgreSQL's socket and its user, when the tests run as root, must get there.
  const path = await mkdtemp(join('/tmp', 'transfer-service-test-'));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** Starts the service and waits for its banner. Rejects with what it printed when it ends before that. */
export async function startService(environment: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', HOST: '127.0.0.1', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no banner in time:\n${output}`)), START_TIME);
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const found = /Ready at (\S+)/.exec(output)?.[1];
      if (found !== undefined) {
        clearTimeout(timer);
        resolve(found.replace('localhost', '127.0.0.1'));
      }
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void ended.then((code) => {
      clearTimeout(timer);
      reject(new Error(`ended with ${code}:\n${output}`));
    });
  });
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    return ended;
  };
  return {
    url,
    child,
    output: () => output,
    client: new TransferService({ baseUrl: url, maximumRetries: 0, timeoutMilliseconds: 20_000 }),
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
  };
}
