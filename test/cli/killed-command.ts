import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { COMPILED } from '../harness/process.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
const PINNED = resolve(PROJECT, 'node_modules/.bin/node');
const NODE = existsSync(PINNED) ? PINNED : process.execPath;

type Watch = {
  /** Whether a request counts. */
  readonly counts: (request: IncomingMessage) => boolean;
  /**
   * Called before a counted request is passed on, and after its response has arrived, with the number of such requests so far. If it
   * returns true, the request is lost, or its response.
   */
  readonly on: (when: 'before' | 'after', count: number) => boolean;
};

/** Starts a proxy in front of a service until the end of the test. Returns its URL. */
export async function startProxy(target: string, { counts, on }: Watch): Promise<string> {
  let count = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const isCounted = counts(request);
    if (isCounted) count += 1;
    if (isCounted && on('before', count)) return void request.destroy();
    const body = chunks.length === 0 ? null : Buffer.concat(chunks);
    const sent = ['content-type', 'idempotency-key', 'program-id'] as const;
    const headers = sent.flatMap((name): [string, string][] => {
      const value = request.headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    });
    const got = await fetch(`${target}${request.url}`, { method: request.method ?? 'GET', body, headers });
    const text = await got.text();
    if (isCounted && on('after', count)) return void request.destroy();
    response.writeHead(
      got.status,
      Object.fromEntries([...got.headers.entries()].filter(([name]) => !/^(content-|transfer-)/.test(name))),
    );
    response.end(text);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Ended = { readonly signal: string | null; readonly exitCode: number | null; readonly errors: string };

/** Starts a command line as a process, which can be killed. */
export function startCommand(
  url: string,
  commandLine: readonly string[],
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const child = spawn(NODE, [join(PROJECT, 'cli/main.ts'), ...commandLine], {
    env: { ...COMPILED, TRANSFER_SERVICE_URL: url },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<Ended>((done, fail) => {
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    child.on('error', fail);
    child.on('close', (exitCode, signal) => done({ signal, exitCode, errors }));
  });
  return { child, ended };
}
