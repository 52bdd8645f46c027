import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openTestSender, sendTo } from './sender.ts';

// Tests a host that drops packets, as a firewall does. The kernel drops the first packet of each connection to a port
// whose queue is full, and a stopped process never empties its queue.

const LISTENER = `
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 });
  server.on('listening', () => console.log(server.address().port));
`;

/** More connections than the queue holds. */
const CONNECTIONS = 8;

async function startBlackHole(): Promise<number> {
  const listener = spawn(process.execPath, ['-e', LISTENER], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => end(listener));
  const [line] = (await once(listener.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  listener.kill('SIGSTOP');
  await expect.poll(() => stateOf(listener)).toBe('T');
  const sockets = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1'));
  onTestFinished(() => endAll(sockets));
  for (const socket of sockets) socket.on('error', () => undefined);
  await expect.poll(() => waitingConnections(port)).toBeGreaterThan(0);
  return port;
}

/** Returns the state of a process. `T` means stopped. */
async function stateOf({ pid }: ChildProcess): Promise<string | undefined> {
  const fields = await readFile(`/proc/${pid}/stat`, 'utf8');
  return fields.replace(/^.*\) /s, '').split(' ')[0];
}

/** Returns the number of connections to the port that wait for a response to their first packet (SYN_SENT). */
async function waitingConnections(port: number): Promise<number> {
  const target = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
  return lines.filter(([, , remote, state]) => remote === target && state === '02').length;
}

function end(listener: ChildProcess): void {
  listener.kill('SIGKILL');
}

function endAll(sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.destroy();
}

test('the connection to a host that never answers times out', async () => {
  const port = await startBlackHole();
  const sender = openTestSender({ allowedNetworks: ['127.0.0.1'], limits: { connectTimeoutMilliseconds: 300 } });
  const answer = await sendTo(sender, `http://127.0.0.1:${port}/`);
  const message = 'No connection was established within 0.3 seconds.';
  expect(answer).toMatchObject({ error: 'connect_timeout', message });
});
