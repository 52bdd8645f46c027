import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { adapterAt, type Call, type Returned, type Signing } from '../../../cli/connector/adapter.ts';
import { newSecret } from '../simulated.ts';

const EXAMPLES = resolve(import.meta.dirname, '../../../examples');

/** An adapter from examples/ in a separate process. */
export type Example = {
  readonly url: string;
  readonly secret: string;
  readonly call: (call: Call, body: object | string, signing?: Signing) => Promise<Returned>;
  /** Sends SIGKILL and waits for the process to end. */
  readonly kill: () => Promise<void>;
};

/** Starts an example on a free port, as its reader would. Stops it at the end of the test. */
export async function startExample(
  name: string,
  environment: Readonly<Record<string, string>>,
  secret: string = newSecret(),
): Promise<Example> {
  const child = spawn(process.execPath, [join(EXAMPLES, name, 'adapter.mjs')], {
    env: { PORT: '0', ADAPTER_SECRET: secret, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => kill(child));
  const url = await urlOf(child);
  return { url, secret, call: adapterAt(url, secret).call, kill: () => kill(child) };
}

async function urlOf(child: ChildProcess): Promise<string> {
  let output = '';
  return new Promise((found, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk;
      const [, url] = /^Listening on (http:\S+)$/m.exec(output) ?? [];
      if (url !== undefined) found(url);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('exit', () => reject(new Error(`The example has ended: ${output}`)));
  });
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
